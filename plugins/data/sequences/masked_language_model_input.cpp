// SPDX-License-Identifier: Apache-2.0
#include "data/sequences/masked_language_model_input.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "data/sequences/masked_rows.h"
#include "data/sequences/next_sentence_rows.h"
#include "data/sequences/permuted_rows.h"
#include "data/sources/given_lines.h"
#include "data/sources/text_template.h"
#include "trivet/config/enums.h"
#include "trivet/error.h"

namespace trivet::data {
namespace {

std::int32_t mask_id_of(const MaskedLanguageModelConfig& config, const Tokenizer& tokenizer,
                        const std::string& input) {
  std::optional<std::int32_t> id = config.mask_id;
  for (const char* name : {"[MASK]", "<mask>"}) {
    if (!id) id = tokenizer.token_id(name);
  }
  if (!id) {
    throw InputError(input + ".mask_id: the tokenizer has no token [MASK] or <mask>",
                     {.hint = "set mask_id to an id that does not occur in text"});
  }
  if (*id >= tokenizer.vocabulary_size()) {
    throw InputError(input + ".mask_id: is " + std::to_string(*id) + ", but the largest id is " +
                     std::to_string(tokenizer.vocabulary_size() - 1));
  }
  return *id;
}

TextPipeline pipeline_of(const MaskedLanguageModelConfig& config, const InputContext& context) {
  TextPipeline pipeline = text_pipeline(own_source(config.source, context),
                                        required_tokenizer(config.tokenizer, context));
  pipeline.targets = TextTemplate(config.targets);
  return pipeline;
}

// Pairs of sentences have the special tokens that later tasks on pairs give them.
MaskedLanguageModelConfig with_pair_tokens(MaskedLanguageModelConfig config,
                                           const Tokenizer& tokenizer) {
  if (!config.next_sentence) return config;
  if (config.add_bos.value_or(true) && !config.bos_id) config.bos_id = tokenizer.token_id("[CLS]");
  if (config.add_eos.value_or(true) && !config.eos_id) config.eos_id = tokenizer.token_id("[SEP]");
  return config;
}

using MakeRows = std::function<std::unique_ptr<SequenceDataset>(SequenceRules)>;

MakeRows make_rows_of(const MaskedLanguageModelConfig& config, const std::string& input) {
  if (!config.next_sentence) return {};
  return [seed = config.seed, input](SequenceRules rules) {
    return std::make_unique<NextSentenceRows>(std::move(rules), seed, input);
  };
}

// Nothing where tokens are chosen by mask_rate.
std::optional<SpanRules> span_rules_of(const PermutationConfig& config) {
  if (!config.max_predictions_per_seq) return std::nullopt;
  SpanRules rules{.strategy = config.sample_strategy,
                  .max_predictions = *config.max_predictions_per_seq};
  const bool has_words = config.sample_strategy == SampleStrategy::word_span;
  const auto& least = has_words ? config.min_num_words : config.min_num_tokens;
  const auto& most = has_words ? config.max_num_words : config.max_num_tokens;
  rules.min_length = least.value_or(rules.min_length);
  rules.max_length = most.value_or(rules.max_length);
  return rules;
}

// The fields of the lengths of spans, where their strategy is another one or their order is wrong.
void check_lengths(const PermutationConfig& config, Diagnostics& diagnostics) {
  const auto check = [&](SampleStrategy strategy, const std::string& unit,
                         const std::optional<std::int64_t>& least,
                         const std::optional<std::int64_t>& most) {
    if (config.sample_strategy != strategy) {
      const std::string what = "has no effect with sample_strategy = \"" +
                               std::string(enum_name(config.sample_strategy)) + "\"";
      if (least) diagnostics.add("min_num_" + unit, what);
      if (most) diagnostics.add("max_num_" + unit, what);
    } else if (const SpanRules defaults;
               least.value_or(defaults.min_length) > most.value_or(defaults.max_length)) {
      diagnostics.add("min_num_" + unit, "is more than max_num_" + unit);
    }
  };
  check(SampleStrategy::token_span, "tokens", config.min_num_tokens, config.max_num_tokens);
  check(SampleStrategy::word_span, "words", config.min_num_words, config.max_num_words);
}

MaskRules mask_rules_of(const MaskedLanguageModelConfig& config, std::int32_t mask_id) {
  MaskRules rules;
  rules.mask_rate = config.mask_rate;
  rules.mask_share = config.mask_share.value_or(rules.mask_share);
  rules.random_share = config.random_share.value_or(rules.random_share);
  if (config.permutation.enabled) rules.mask_share = rules.random_share = 0;
  rules.spans = span_rules_of(config.permutation);
  rules.mask_id = mask_id;
  rules.seed = config.seed;
  return rules;
}

// max_predictions_per_seq beside the fields of the input.
void check_predictions(const MaskedLanguageModelConfig& config, Diagnostics& diagnostics) {
  const PermutationConfig& permutation = config.permutation;
  if (!permutation.max_predictions_per_seq) return;
  if (config.mask_rate != MaskRules().mask_rate) {
    diagnostics.add("mask_rate", "has no effect with permutation.max_predictions_per_seq",
                    "remove one of them");
  }
  const SampleStrategy strategy = permutation.sample_strategy;
  const double units = strategy == SampleStrategy::word_span ? kTokensOfWord : 1;
  const double parts = static_cast<double>(*permutation.max_predictions_per_seq) * units;
  const bool is_parted =
      strategy == SampleStrategy::token_span || strategy == SampleStrategy::word_span;
  if (is_parted && parts > static_cast<double>(config.seq_len)) {
    diagnostics.add(
        "permutation.max_predictions_per_seq",
        "is " + std::to_string(*permutation.max_predictions_per_seq) +
            ", which leaves no tokens between spans of seq_len = " + std::to_string(config.seq_len),
        "make it less");
  }
}

}  // namespace

void PermutationConfig::validate(Diagnostics& diagnostics) const {
  if (enabled) {
    check_lengths(*this, diagnostics);
    if (sample_strategy != SampleStrategy::single_token && !max_predictions_per_seq) {
      diagnostics.add(
          "max_predictions_per_seq",
          "is required with sample_strategy = \"" + std::string(enum_name(sample_strategy)) + "\"");
    }
    return;
  }
  const auto refuse = [&](const char* field, bool is_set) {
    if (is_set) diagnostics.add(field, "is not used: permutation.enabled is false");
  };
  refuse("size", size != 0);
  refuse("leak_ratio", leak_ratio != 0);
  refuse("sample_strategy", sample_strategy != SampleStrategy::single_token);
  refuse("max_predictions_per_seq", max_predictions_per_seq.has_value());
  refuse("min_num_tokens", min_num_tokens.has_value());
  refuse("max_num_tokens", max_num_tokens.has_value());
  refuse("min_num_words", min_num_words.has_value());
  refuse("max_num_words", max_num_words.has_value());
}

void MaskedLanguageModelConfig::validate(Diagnostics& diagnostics) const {
  SequenceConfig::validate(diagnostics);
  check_template(diagnostics, "targets", targets);
  const MaskRules defaults;
  if (mask_share.value_or(defaults.mask_share) + random_share.value_or(defaults.random_share) > 1) {
    diagnostics.add("random_share", "and mask_share add up to more than 1");
  }
  if (permutation.enabled) {
    check_predictions(*this, diagnostics);
    for (const auto& [field, share] :
         {std::pair{"mask_share", mask_share}, std::pair{"random_share", random_share}}) {
      if (share) diagnostics.add(field, "is not used: with permutation.enabled all tokens stay");
    }
    if (permutation.size > 0 && seq_len % permutation.size != 0) {
      diagnostics.add("permutation.size",
                      "is " + std::to_string(permutation.size) +
                          ", which does not divide seq_len = " + std::to_string(seq_len));
    }
  }
  if (next_sentence && (pack || long_documents != LongDocuments::split || overlap > 0)) {
    diagnostics.add("next_sentence", "makes rows of windows of one document each",
                    "set pack = false, and leave long_documents and overlap out");
  }
}

MaskedLanguageModelInput::MaskedLanguageModelInput(const Config& config, InputContext& context)
    : MaskedLanguageModelInput(config, context, pipeline_of(config, context)) {}

MaskedLanguageModelInput::MaskedLanguageModelInput(const Config& config, InputContext& context,
                                                   const TextPipeline& pipeline)
    : MaskedLanguageModelInput(config, context, pipeline,
                               mask_id_of(config, *pipeline.tokenizer, context.name)) {}

MaskedLanguageModelInput::MaskedLanguageModelInput(const Config& config, InputContext& context,
                                                   const TextPipeline& pipeline,
                                                   std::int32_t mask_id)
    : TextSequenceInput(
          with_pair_tokens(config, *pipeline.tokenizer), context, pipeline,
          {.shifted = false,
           .make_rows = make_rows_of(config, context.name),
           .wrap = [tokenizer = pipeline.tokenizer, rules = mask_rules_of(config, mask_id),
                    permutation = config.permutation](
                       std::unique_ptr<SequenceDataset> rows) -> std::unique_ptr<SequenceDataset> {
             rows = std::make_unique<MaskedRows>(std::move(rows), tokenizer, rules);
             if (!permutation.enabled) return rows;
             return std::make_unique<PermutedRows>(
                 std::move(rows),
                 PermutationRules{permutation.size, permutation.leak_ratio, rules.seed});
           },
           .wrap_examples =
               [mask_id, permuted = config.permutation.enabled](
                   std::unique_ptr<SequenceDataset> rows) -> std::unique_ptr<SequenceDataset> {
             rows = std::make_unique<GivenMasks>(std::move(rows), mask_id);
             if (!permuted) return rows;
             return std::make_unique<PermutedRows>(std::move(rows), std::nullopt);
           }},
          mask_id) {}

}  // namespace trivet::data
