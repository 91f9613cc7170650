// SPDX-License-Identifier: Apache-2.0
// Which rows of a batch are examples, and which only fill it.
#pragma once

#include <cstdint>
#include <vector>

#include "trivet/tensor/nested_map.h"

namespace trivet::lm {

// The rows whose "weight" [rows], where the batch has it, is not 0.
std::vector<bool> real_rows(const Batch& batch, std::int64_t rows);

// 1 for these rows, 0 for others.
std::vector<float> row_weights(const Batch& batch, std::int64_t rows);

}  // namespace trivet::lm
