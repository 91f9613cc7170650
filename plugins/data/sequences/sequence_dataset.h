// SPDX-License-Identifier: Apache-2.0
// SequenceDataset: random access to rows of language model batches.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

#include "trivet/input.h"

namespace trivet::data {

class SequenceDataset {
 public:
  struct Row {
    std::int64_t row = 0;
    bool real = true;        // false: fills the batch only, so its weights are 0
    std::int64_t epoch = 0;  // seeds random choices that differ per epoch
  };

  virtual ~SequenceDataset() = default;
  SequenceDataset(const SequenceDataset&) = delete;
  SequenceDataset& operator=(const SequenceDataset&) = delete;

  virtual std::int64_t rows() const = 0;
  // The number of the example that a row is of. Rows of one example are neighbors, and each example
  // has one.
  virtual std::int64_t example(std::int64_t row) const { return row; }
  // Returns all fields but "weight". Throws InputError if the data cannot be read.
  virtual Batch batch(std::span<const Row> rows) = 0;
  // Differs if the rows differ, apart from random choices per epoch.
  virtual std::string fingerprint() const = 0;

 protected:
  SequenceDataset() = default;
};

// Sets all elements of a new tensor of a batch to `value` and returns them for writing.
template <class T>
std::span<T> filled(Tensor& tensor, T value) {
  const std::span<T> elements = tensor.mutable_span<T>();
  std::ranges::fill(elements, value);
  return elements;
}

}  // namespace trivet::data
