// SPDX-License-Identifier: Apache-2.0
// Rows of language models' batches that can be had in any order.
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
    bool real = true;        // false: it only fills the batch, so its weights are 0
    std::int64_t epoch = 0;  // for what is drawn anew in every pass
  };

  virtual ~SequenceDataset() = default;
  SequenceDataset(const SequenceDataset&) = delete;
  SequenceDataset& operator=(const SequenceDataset&) = delete;

  virtual std::int64_t rows() const = 0;
  // All fields but "weight". Throws InputError for data that cannot be read.
  virtual Batch batch(std::span<const Row> rows) = 0;
  // Differs when the rows do, but for what is drawn anew.
  virtual std::string fingerprint() const = 0;

 protected:
  SequenceDataset() = default;
};

// All elements of a tensor of a batch set to `value`, to be changed.
template <class T>
std::span<T> filled(Tensor& tensor, T value) {
  const std::span<T> elements = tensor.mutable_span<T>();
  std::ranges::fill(elements, value);
  return elements;
}

}  // namespace trivet::data
