// SPDX-License-Identifier: Apache-2.0
#include "data/sequences/preference_pairs_input.h"

#include <array>
#include <numeric>
#include <utility>
#include <vector>

#include "data/sequences/sequence_rows.h"
#include "data/sources/given_lines.h"
#include "data/sources/text_template.h"
#include "data/tokens/special_tokens.h"
#include "data/tokens/tokenize.h"
#include "trivet/config/digest.h"
#include "trivet/error.h"

namespace trivet::data {
namespace {

using Ids = std::vector<std::int32_t>;

class PreferenceRows final : public SequenceDataset {
 public:
  PreferenceRows(SequenceRules chosen, SequenceRules rejected)
      : chosen_(chosen, one_per_row(chosen)), rejected_(rejected, one_per_row(rejected)) {}

  std::int64_t rows() const override { return chosen_.rows(); }
  Batch batch(std::span<const Row> rows) override {
    Batch batch;
    add(batch, "chosen/", chosen_.batch(rows));
    add(batch, "rejected/", rejected_.batch(rows));
    return batch;
  }
  std::string fingerprint() const override {
    return digest(chosen_.fingerprint() + rejected_.fingerprint());
  }

 private:
  static std::vector<std::int64_t> one_per_row(const SequenceRules& rules) {
    std::vector<std::int64_t> ends(static_cast<std::size_t>(rules.tokens->documents()));
    std::iota(ends.begin(), ends.end(), 1);
    return ends;
  }
  static void add(Batch& batch, const std::string& prefix, const Batch& side) {
    for (const auto& [name, tensor] : side) batch.set(prefix + name, tensor);
  }

  SequenceRows chosen_, rejected_;
};

}  // namespace

void PreferencePairsConfig::validate(Diagnostics& diagnostics) const {
  InputConfig::validate(diagnostics);
  check_template(diagnostics, "prompt", prompt);
  check_template(diagnostics, "chosen", chosen);
  check_template(diagnostics, "rejected", rejected);
  if (!chosen.empty() && chosen == rejected) {
    diagnostics.add("rejected", "is the template of chosen, so no answer is preferred");
  }
  if (prompt.empty() && inputs_eos) diagnostics.add("inputs_eos", "has no effect without prompt");
  if (prompt.empty() && inputs_len > 0) {
    diagnostics.add("inputs_len", "has no effect without prompt");
  }
}

struct PreferencePairsInput::Parts {
  Parts(const Config& from, const InputContext& context)
      : config(from),
        data(own_source(from.source, context)),
        tokenizer(required_tokenizer(from.tokenizer, context)),
        vocabulary(checked_vocabulary(*tokenizer, context.name)),
        prompt(from.prompt),
        answers{TextTemplate(from.chosen), TextTemplate(from.rejected)} {
    rules.special.bos = special_token({"bos", config.add_bos, config.bos_id}, tokenizer->bos_id(),
                                      vocabulary, context.name);
    rules.special.eos = special_token({"eos", config.add_eos, config.eos_id}, tokenizer->eos_id(),
                                      vocabulary, context.name);
    rules.seq_len = config.seq_len;
    rules.indicate_inputs = true;
    rules.weights_on_targets_only = true;
    if (config.inputs_eos) {
      prompt_end =
          special_token({.name = "eos", .add = true, .id = config.eos_id, .flag = "inputs_eos"},
                        tokenizer->eos_id(), vocabulary, context.name);
    }
  }

  std::unique_ptr<SequenceDataset> load(DataSource& source) const {
    std::array<std::shared_ptr<MemoryTokens>, 2> tokens = {
        std::make_shared<MemoryTokens>(vocabulary), std::make_shared<MemoryTokens>(vocabulary)};
    read_limited(source, config.limit.count, [&](const SourceExample& example) {
      const Ids start = prompt_of(example);
      for (std::size_t i = 0; i < tokens.size(); ++i) {
        Ids ids = start;
        const Ids answer = encode_checked(*tokenizer, answers[i].fill(example), example.location);
        ids.insert(ids.end(), answer.begin(), answer.end());
        check(ids.size(), start.size(), example.location);
        tokens[i]->add(ids, std::ssize(start));
      }
    });
    SequenceRules chosen = rules, rejected = rules;
    chosen.tokens = std::move(tokens[0]);
    rejected.tokens = std::move(tokens[1]);
    return std::make_unique<PreferenceRows>(std::move(chosen), std::move(rejected));
  }

  Ids prompt_of(const SourceExample& example) const {
    Ids ids = encode_checked(*tokenizer, prompt.fill(example), example.location);
    const auto most = static_cast<std::size_t>(config.inputs_len);
    const std::size_t end = prompt_end ? 1 : 0;
    if (most > 0 && ids.size() + end > most) ids.resize(most - std::min(most, end));
    if (prompt_end) ids.push_back(*prompt_end);
    return ids;
  }

  // A label of the answer must be left in a row: of n tokens of text, with BOS the first one is a
  // label, too.
  void check(std::size_t ids, std::size_t inputs, const std::string& location) const {
    const std::size_t bos = rules.special.bos ? 1 : 0, eos = rules.special.eos ? 1 : 0;
    if (ids == 0 || ids + eos == inputs || ids + bos + eos < 2) {
      throw InputError(location + ": an answer has no token to predict",
                       {.hint = "leave the example out, or end answers with EOS"});
    }
    const std::size_t unlabeled = inputs + bos - 1;  // positions whose label is of the prompt
    if (inputs + bos == 0 || std::cmp_less(unlabeled, rules.seq_len)) return;
    throw InputError(location + ": the prompt has " + std::to_string(inputs) +
                         " tokens and leaves no room for an answer in " +
                         std::to_string(rules.seq_len) + " positions",
                     {.hint = "set inputs_len to cut prompts, or make seq_len larger"});
  }

  Config config;
  std::shared_ptr<DataSource> data;
  std::shared_ptr<const Tokenizer> tokenizer;
  std::int64_t vocabulary;
  TextTemplate prompt;
  std::array<TextTemplate, 2> answers;  // chosen, rejected
  SequenceRules rules;                  // without the tokens
  std::optional<std::int32_t> prompt_end;
};

PreferencePairsInput::PreferencePairsInput(const Config& config, InputContext& context)
    : PreferencePairsInput(config, context, Parts(config, context)) {}

PreferencePairsInput::PreferencePairsInput(const Config& config, InputContext& context,
                                           const Parts& parts)
    : RowsInput(
          config, context, name_of(parts.data.get()),
          encoder_sides(parts.tokenizer, parts.vocabulary, {"chosen/", "rejected/"}),
          [parts] { return parts.load(*parts.data); },
          [parts](DataSource& examples) { return parts.load(examples); }) {}

}  // namespace trivet::data
