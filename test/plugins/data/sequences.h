// SPDX-License-Identifier: Apache-2.0
// A tokenizer that is small enough for computation by hand, and the rows of language model batches
// as text.
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
// `special_tokens` = false. `vocabulary` is the size that it reports; `wrong_id` is its id of "!".
ConfigOf<Tokenizer> letters(bool special_tokens = true);
ConfigOf<Tokenizer> wrong_letters(std::int32_t vocabulary, std::int32_t wrong_id);

// A batch of such ids: each row as text with one character per position. ids and labels: '^' BOS,
// '$' EOS, '.' for 0, '#' for other ids that are not bytes, else the byte. Other fields: their
// digits.
struct SequenceRows {
  std::vector<std::string> ids, labels, weights, paddings, segment_ids, segment_pos, label_bytes;
};
SequenceRows rows_of(const Batch& batch);
// The same of all batches to the end of the data.
SequenceRows all_rows(Input& input);
// All tokens of a batch's rows as one text, for comparisons.
std::string fingerprint(const Batch& batch);

// Text files in their own folder, and a config that reads them in rows of 8, 2 per batch.
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
