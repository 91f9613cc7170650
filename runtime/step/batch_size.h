// SPDX-License-Identifier: Apache-2.0
// The size of a batch from an Input.
#pragma once

#include <cstdint>

#include "trivet/tensor/nested_map.h"

namespace trivet {

struct BatchSize {
  std::int64_t rows = 0;      // first extent of the batch's tensors
  std::int64_t examples = 0;  // rows without padding: "weight" is not 0
};

BatchSize size_of(const Batch& batch);

}  // namespace trivet
