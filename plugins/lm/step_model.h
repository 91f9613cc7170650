// SPDX-License-Identifier: Apache-2.0
// What decoding needs of a model: tokens in, logits of the next token out, for rows of sequences
// that all have the same length so far.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace trivet::lm {

class StepModel {
 public:
  virtual ~StepModel() = default;
  virtual std::int64_t vocabulary_size() const = 0;
  // Appends `count` tokens to each row, ids [rows, count]; the logits behind the last,
  // [rows, vocabulary_size].
  virtual std::vector<float> extend(std::span<const std::int32_t> ids, std::int64_t count) = 0;
  // From now on row i goes on where row rows[i] was.
  virtual void reorder(std::span<const std::int32_t> rows) = 0;
};

}  // namespace trivet::lm
