// SPDX-License-Identifier: Apache-2.0
#include "data/sequences/masked_language_model_input.h"

#include <functional>
#include <memory>
#include <utility>

#include "data/sequences/masked_rows.h"
#include "data/sequences/next_sentence_rows.h"
#include "data/sources/given_lines.h"
#include "data/sources/text_template.h"
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

}  // namespace

void MaskedLanguageModelConfig::validate(Diagnostics& diagnostics) const {
  SequenceConfig::validate(diagnostics);
  check_template(diagnostics, "targets", targets);
  if (mask_share + random_share > 1) {
    diagnostics.add("random_share", "and mask_share add up to more than 1");
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
           .wrap = [tokenizer = pipeline.tokenizer,
                    rules = MaskRules{config.mask_rate, config.mask_share, config.random_share,
                                      mask_id, config.seed}](
                       std::unique_ptr<SequenceDataset> rows) -> std::unique_ptr<SequenceDataset> {
             return std::make_unique<MaskedRows>(std::move(rows), *tokenizer, rules);
           },
           .wrap_examples = [mask_id](std::unique_ptr<SequenceDataset> rows)
               -> std::unique_ptr<SequenceDataset> {
             return std::make_unique<GivenMasks>(std::move(rows), mask_id);
           }},
          mask_id) {}

}  // namespace trivet::data
