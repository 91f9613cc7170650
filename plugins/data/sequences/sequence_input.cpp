// SPDX-License-Identifier: Apache-2.0
#include "data/sequences/sequence_input.h"

#include <functional>
#include <utility>

#include "data/sources/given_lines.h"
#include "data/tokens/preparation.h"
#include "data/tokens/special_tokens.h"
#include "trivet/error.h"

namespace trivet::data {
namespace {

DocumentSpecialTokens special_tokens_of(const SequenceConfig& config, const TextSide& side,
                                        const std::string& input) {
  const Tokenizer* tokenizer = side.tokenizer.get();
  const auto bos = tokenizer != nullptr ? tokenizer->bos_id() : std::nullopt;
  const auto eos = tokenizer != nullptr ? tokenizer->eos_id() : std::nullopt;
  return {
      special_token({"bos", config.add_bos, config.bos_id}, bos, side.vocabulary_size, input),
      special_token({"eos", config.add_eos, config.eos_id}, eos, side.vocabulary_size, input),
  };
}

// Every document has a row of its own; one that is longer has several.
SequenceConfig one_per_row(SequenceConfig config) {
  config.pack = false;
  config.long_documents = LongDocuments::split;
  config.overlap = 0;
  config.random_offsets = false;
  return config;
}

using Wrapper = std::function<std::unique_ptr<SequenceDataset>(std::unique_ptr<SequenceDataset>)>;

std::unique_ptr<SequenceDataset> rows_of(SequenceRules rules, const SequenceConfig& config,
                                         const Wrapper& wrap) {
  std::unique_ptr<SequenceDataset> rows = std::make_unique<SequenceRows>(std::move(rules), config);
  return wrap ? wrap(std::move(rows)) : std::move(rows);
}

// Each example needs a row of its own.
void check_examples(const SequenceRules& rules, DataSource& examples) {
  const std::vector<std::int64_t> positions = rules.positions();
  std::size_t next = 0;
  examples.read([&](const SourceExample& example) {
    const std::int64_t own = positions[next++];
    if (own == 0) throw InputError(example.location + ": has no token to predict");
    if (own <= rules.seq_len) return;
    throw InputError(example.location + ": takes " + std::to_string(own) +
                         " positions, and a row has " + std::to_string(rules.seq_len),
                     {.hint = "cut the text, or set seq_len of the input higher"});
  });
}

}  // namespace

struct SequenceInput::RowMaker {
  TextSide side;
  DocumentSpecialTokens special;
  bool shifted, indicate_inputs, add_task_ids, weights_on_targets_only;
  std::vector<std::string> features;

  SequenceRules rules_of(std::shared_ptr<const TokenStore> tokens,
                         const SequenceConfig& config) const {
    SequenceRules rules;
    rules.tokens = std::move(tokens);
    rules.special = special;
    rules.seq_len = config.seq_len;
    rules.shifted = shifted;
    if (side.tokenizer) rules.bytes_of_id = bytes_of_ids(*side.tokenizer);
    rules.indicate_inputs = indicate_inputs;
    rules.add_task_ids = add_task_ids;
    rules.weights_on_targets_only = weights_on_targets_only;
    rules.features = features;
    if (config.random_offsets) {
      rules.random_offsets = RngKey(static_cast<std::uint64_t>(config.seed)).fold("offsets");
    }
    return rules;
  }
};

void SequenceConfig::validate(Diagnostics& diagnostics) const {
  InputConfig::validate(diagnostics);
  const bool split = long_documents == LongDocuments::split;
  if (overlap > 0 && (pack || !split)) {
    diagnostics.add("overlap", "applies only to windows of one document per row",
                    "set pack = false and long_documents = \"split\"");
  }
  if (overlap >= seq_len && seq_len > 0) {
    diagnostics.add("overlap", "leaves no new positions in a window",
                    "overlap must be below seq_len");
  }
  if (random_offsets && !(pack && split)) {
    diagnostics.add("random_offsets", "applies only to rows that are cut from all documents",
                    "set pack = true and long_documents = \"split\", or leave it out");
  }
}

SequenceInput::SequenceInput(const SequenceConfig& config, const InputContext& context,
                             const std::string& data, const TextSide& side, const LoadTokens& load,
                             const Options& options, const LoadExampleTokens& load_examples)
    : SequenceInput(config, context, data, side, load, options, load_examples,
                    RowMaker{side, special_tokens_of(config, side, context.name), options.shifted,
                             options.indicate_inputs, options.add_task_ids,
                             options.weights_on_targets_only, options.features}) {}

SequenceInput::SequenceInput(const SequenceConfig& config, const InputContext& context,
                             const std::string& data, const TextSide& side, const LoadTokens& load,
                             const Options& options, const LoadExampleTokens& load_examples,
                             const RowMaker& maker)
    : RowsInput(
          config, context, data, {.only = side, .source = {}, .target = {}},
          [maker, config, load, make_rows = options.make_rows,
           wrap = options.wrap]() -> std::unique_ptr<SequenceDataset> {
            SequenceRules rules = maker.rules_of(load(), config);
            if (!make_rows) return rows_of(std::move(rules), config, wrap);
            std::unique_ptr<SequenceDataset> rows = make_rows(std::move(rules));
            return wrap ? wrap(std::move(rows)) : std::move(rows);
          },
          load_examples ? LoadExamples([maker, config = one_per_row(config), load_examples,
                                        wrap = options.wrap_examples](DataSource& examples) {
            SequenceRules rules = maker.rules_of(load_examples(examples), config);
            check_examples(rules, examples);
            return rows_of(std::move(rules), config, wrap);
          })
                        : LoadExamples()) {}

TextSequenceInput::TextSequenceInput(const TextSequenceConfig& config, const InputContext& context,
                                     const TextPipeline& pipeline, const Options& options,
                                     std::optional<std::int32_t> example_mask)
    : SequenceInput(
          config, context, name_of(pipeline.source.get()),
          {pipeline.tokenizer, checked_vocabulary(*pipeline.tokenizer, context.name)},
          [pipeline, limit = config.limit.count] {
            return tokenize(pipeline, *pipeline.source, limit);
          },
          options,
          [pipeline, example_mask, limit = config.limit.count](DataSource& examples) {
            TextPipeline own = pipeline;
            own.mask_id = example_mask;
            return tokenize(own, examples, limit);
          }),
      pipeline_(pipeline) {}

const void* TextSequenceInput::extension(std::string_view id) const noexcept {
  if (id == kInputPreparation) return static_cast<const PreparableInput*>(this);
  return SequenceInput::extension(id);
}

PreparedData TextSequenceInput::prepare(const std::filesystem::path& directory,
                                        std::uint64_t shard_bytes) const {
  return prepare_tokens(pipeline_, directory, shard_bytes);
}

}  // namespace trivet::data
