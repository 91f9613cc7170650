// SPDX-License-Identifier: Apache-2.0
// What decoding needs of a model: the prompts of a batch, then a token for each row at a time, and
// behind each the logits of the next one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace trivet::lm {

class DecoderState {
 public:
  virtual ~DecoderState() = default;
  virtual std::int64_t vocabulary_size() const = 0;
  // The whole prompt of each row, of any lengths from 1 on; once, before anything else. A model
  // that sees prompts whole (prefix language models) takes these tokens for the prompt, and all
  // that come later for its continuation. The logits behind the last of each, [rows,
  // vocabulary_size].
  virtual std::vector<float> start(std::span<const std::vector<std::int32_t>> prompts) = 0;
  // Appends a token to each row; the logits behind it, [rows, vocabulary_size].
  virtual std::vector<float> extend(std::span<const std::int32_t> ids) = 0;
  // From now on row i goes on where row rows[i] was; there may be more rows or fewer than before.
  virtual void reorder(std::span<const std::int32_t> rows) = 0;
};

}  // namespace trivet::lm
