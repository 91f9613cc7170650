// SPDX-License-Identifier: Apache-2.0
// A tokenizer small enough to compute with by hand, and the rows of language models' batches as
// texts.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "data/sequences/text_files_input.h"
#include "files.h"
#include "trivet/plugin/registry.h"

namespace trivet::test {

// "letters/Bytes": a byte b is the id b + 10; 0, 1 and 2 are padding, BOS and EOS, unless
// `marks` = false. `vocabulary` is what it says it has; `wrong_id` is what it makes of "!".
ConfigOf<Tokenizer> letters(bool marks = true);
ConfigOf<Tokenizer> wrong_letters(std::int32_t vocabulary, std::int32_t wrong_id);

// A batch of such ids: each row as a text with one character a position. ids and labels: '^' BOS,
// '$' EOS, '.' for 0, '#' for what is no byte, else the byte. The others: their digits.
struct SequenceRows {
  std::vector<std::string> ids, labels, weights, paddings, segment_ids, segment_pos, label_bytes;
};
SequenceRows rows_of(const Batch& batch);
// The same of all batches to the end of the data.
SequenceRows all_rows(Input& input);
// All tokens of a batch's rows as one text, for comparisons.
std::string fingerprint(const Batch& batch);

// Text files in a folder of their own, and a config that reads them in rows of 8, 2 a batch.
class TextFolder {
 public:
  explicit TextFolder(const std::vector<std::string>& texts);
  data::TextFilesInput input(Phase phase = Phase::evaluation) const {
    InputContext context{.phase = phase, .name = "task.train_input"};
    return {config, context};
  }
  const TempDir& folder() const { return dir_; }

  data::TextConfig config;

 private:
  TempDir dir_;
};

}  // namespace trivet::test
