// SPDX-License-Identifier: Apache-2.0
// data/PreferencePairs: prompts with two answers each, of which one is preferred (Rafailov et al.
// 2023).
//
// One example is two rows of T = seq_len positions. The fields of language models (ids, labels,
// weights, paddings, segment_ids, segment_pos, inputs_indicator; sequence_config.h) of the row with
// the preferred answer are below "chosen/", those of the other one below "rejected/"; "weight" f32
// [B] is that of the pair. A row is BOS, the prompt, the answer and EOS. Labels of the answer and
// its EOS have weight 1, those of the prompt 0.
//
// An answer that does not fit is cut, and keeps EOS. A prompt that leaves no room for an answer is
// an error, and so is an example without a token to predict.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "data/sequences/rows_input.h"
#include "trivet/data_source.h"
#include "trivet/input.h"
#include "trivet/tokenizer.h"

namespace trivet::data {

struct PreferencePairsConfig : InputConfig {
  ConfigOf<DataSource> source;
  ConfigOf<Tokenizer> tokenizer;
  std::string prompt = "{prompt}";
  std::string chosen = "{chosen}";
  std::string rejected = "{rejected}";
  std::int64_t seq_len = 0;
  std::int64_t inputs_len = 0;
  bool inputs_eos = false;
  std::optional<bool> add_bos;
  std::optional<bool> add_eos;
  std::optional<std::int32_t> bos_id;
  std::optional<std::int32_t> eos_id;
  Bytes limit = std::int64_t{1} << 30;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(
    PreferencePairsConfig, trivet::InputConfig, (source, "Where examples come from.", required),
    (tokenizer, "Tokenizer of the texts. Default: that of the task."),
    (prompt, "The prompt, with names of the source's features in braces. Empty: none."),
    (chosen,
     "The preferred answer, which follows the prompt at once: \" {chosen}\" puts a blank "
     "between them."),
    (rejected, "Answer that was not preferred."),
    (seq_len, "Positions in a row: a prompt with an answer. Longer answers are cut.", required,
     at_least(2)),
    (inputs_len,
     "Maximum number of tokens of a prompt; the rest is dropped. 0: no limit, and a prompt without "
     "room for an answer is an error.",
     at_least(0)),
    (inputs_eos, "Ends prompts with EOS, which counts in inputs_len."),
    (add_bos, "Starts rows with BOS. Default: if the tokenizer has one."),
    (add_eos, "Ends answers with EOS. Default: if the tokenizer has one."),
    (bos_id, "Id of BOS; unset: that of the tokenizer.", at_least(0)),
    (eos_id, "Id of EOS; unset: that of the tokenizer.", at_least(0)),
    (limit, "Most bytes of text.", at_least(1)))

class PreferencePairsInput final : public RowsInput {
 public:
  using Config = PreferencePairsConfig;
  PreferencePairsInput(const Config& config, InputContext& context);

 private:
  struct Parts;
  PreferencePairsInput(const Config& config, InputContext& context, const Parts& parts);
};

}  // namespace trivet::data
