// SPDX-License-Identifier: Apache-2.0
// The numbers of an entry of a safetensors file.
#pragma once

#include <vector>

#include "trivet/base/export.h"
#include "trivet/data/safetensors.h"

namespace trivet {

// f32, bf16 or f16.
TRIVET_API bool holds_floats(const SafetensorsEntry& entry);

// Row-major; 16-bit numbers are widened, which changes none. The data may start at any byte. Throws
// Error where holds_floats() is false. [any-thread]
TRIVET_API std::vector<float> floats_of(const SafetensorsEntry& entry);

}  // namespace trivet
