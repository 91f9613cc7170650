// SPDX-License-Identifier: Apache-2.0
#include "data/sequences/sequence_to_sequence_input.h"

#include <utility>

#include "data/sequences/pair_rows.h"
#include "data/sources/given_lines.h"
#include "data/sources/text_template.h"
#include "data/tokens/special_tokens.h"
#include "data/tokens/tokenize.h"
#include "trivet/data_source.h"
#include "trivet/error.h"

namespace trivet::data {
namespace {

TextSide make_side(const ConfigOf<Tokenizer>& own, const InputContext& context) {
  std::shared_ptr<const Tokenizer> tokenizer = required_tokenizer(own, context);
  const std::int64_t size = checked_vocabulary(*tokenizer, context.name);
  return {std::move(tokenizer), size};
}

}  // namespace

void SequenceToSequenceConfig::validate(Diagnostics& diagnostics) const {
  InputConfig::validate(diagnostics);
  check_template(diagnostics, "inputs", inputs);
  check_template(diagnostics, "targets", targets);
}

// What load() needs.
struct SequenceToSequenceInput::Parts {
  Parts(const Config& config, const InputContext& context)
      : data(own_source(config.source, context)),
        inputs(config.inputs),
        targets(config.targets),
        source(make_side(config.tokenizer, context)),
        target(config.target_tokenizer.has_value() ? make_side(config.target_tokenizer, context)
                                                   : source),
        limit(config.limit.count),
        pack(config.pack) {
    const auto eos_of = [&](const TextSide& side) {
      return special_token({"eos", config.add_eos, config.eos_id}, side.tokenizer->eos_id(),
                           side.vocabulary_size, context.name);
    };
    source_rules.special.eos = eos_of(source);
    source_rules.seq_len = config.inputs_len;
    source_rules.shifted = false;
    target_rules.special.bos =
        special_token({.name = "bos", .add = true, .id = config.bos_id}, target.tokenizer->bos_id(),
                      target.vocabulary_size, context.name);
    target_rules.special.eos = eos_of(target);
    target_rules.seq_len = config.targets_len;
  }

  std::unique_ptr<SequenceDataset> load() const {
    auto source_tokens = std::make_shared<MemoryTokens>(source.vocabulary_size);
    auto target_tokens = std::make_shared<MemoryTokens>(target.vocabulary_size);
    read_limited(*data, limit, [&](const SourceExample& example) {
      const auto from = encode_checked(*source.tokenizer, inputs.fill(example), example.location);
      const auto to = encode_checked(*target.tokenizer, targets.fill(example), example.location);
      if (from.empty() || to.empty()) return;
      source_tokens->add(from);
      target_tokens->add(to);
    });
    SequenceRules from = source_rules, to = target_rules;
    from.tokens = std::move(source_tokens);
    to.tokens = std::move(target_tokens);
    to.bytes_of_id = bytes_of_ids(*target.tokenizer);
    return std::make_unique<PairRows>(std::move(from), std::move(to), pack);
  }

  // Sources that a user gives.
  std::unique_ptr<SequenceDataset> load_sources(DataSource& examples) const {
    auto tokens = std::make_shared<MemoryTokens>(source.vocabulary_size);
    read_limited(examples, limit, [&](const SourceExample& example) {
      const auto ids = encode_checked(*source.tokenizer, inputs.fill(example), example.location);
      if (ids.empty()) throw InputError(example.location + ": the source has no token");
      tokens->add(ids);
    });
    SequenceRules rules = source_rules;
    rules.tokens = std::move(tokens);
    return std::make_unique<SourceRows>(std::move(rules));
  }

  std::shared_ptr<DataSource> data;
  TextTemplate inputs, targets;
  TextSide source, target;
  SequenceRules source_rules, target_rules;  // without the tokens
  std::int64_t limit;
  bool pack;
};

SequenceToSequenceInput::SequenceToSequenceInput(const Config& config, InputContext& context)
    : SequenceToSequenceInput(config, context, Parts(config, context)) {}

SequenceToSequenceInput::SequenceToSequenceInput(const Config& config, InputContext& context,
                                                 const Parts& parts)
    : RowsInput(
          config, context, name_of(parts.data.get()),
          {.only = {}, .source = parts.source, .target = parts.target},
          [parts] { return parts.load(); },
          [parts](DataSource& examples) { return parts.load_sources(examples); }) {}

}  // namespace trivet::data
