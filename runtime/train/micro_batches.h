// SPDX-License-Identifier: Apache-2.0
// Splits a batch for gradient accumulation.
#pragma once

#include <cstdint>
#include <vector>

#include "trivet/nested_map.h"

namespace trivet {

// At most `parts` batches of neighbouring rows, as equal as can be, which share the memory of
// `batch`. Tensors whose first extent is not the number of rows are given to every part whole.
std::vector<Batch> micro_batches(const Batch& batch, std::int64_t parts);

}  // namespace trivet
