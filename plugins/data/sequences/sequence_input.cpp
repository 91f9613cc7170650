// SPDX-License-Identifier: Apache-2.0
#include "data/sequences/sequence_input.h"

#include <utility>

#include "data/tokens/preparation.h"
#include "data/tokens/special_tokens.h"

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

}  // namespace

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
                             const Options& options)
    : RowsInput(
          config, context, data, {.only = side, .source = {}, .target = {}},
          [load, options, side, special = special_tokens_of(config, side, context.name), config] {
            SequenceRules rules;
            rules.tokens = load();
            rules.special = special;
            rules.seq_len = config.seq_len;
            rules.shifted = options.shifted;
            if (side.tokenizer) rules.bytes_of_id = bytes_of_ids(*side.tokenizer);
            rules.indicate_inputs = options.indicate_inputs;
            rules.weights_on_targets_only = options.weights_on_targets_only;
            if (config.random_offsets) {
              rules.random_offsets =
                  RngKey(static_cast<std::uint64_t>(config.seed)).fold("offsets");
            }
            std::unique_ptr<SequenceDataset> rows =
                std::make_unique<SequenceRows>(std::move(rules), config);
            return options.wrap ? options.wrap(std::move(rows)) : std::move(rows);
          }) {}

TextSequenceInput::TextSequenceInput(const TextSequenceConfig& config, const InputContext& context,
                                     const TextPipeline& pipeline, const Options& options)
    : SequenceInput(
          config, context, pipeline.source->name(),
          {pipeline.tokenizer, checked_vocabulary(*pipeline.tokenizer, context.name)},
          [pipeline, limit = config.limit.count] {
            return std::shared_ptr<const TokenStore>(tokenize(pipeline, limit));
          },
          options),
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
