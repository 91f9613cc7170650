// SPDX-License-Identifier: Apache-2.0
// How variables lie in a flat block: each starts at a multiple of 16 floats (64 bytes).
#pragma once

#include <cstdint>

#include "trivet/ops.h"
#include "trivet/tensor.h"

namespace trivet::detail {

inline std::int64_t padded(std::int64_t elements) {
  constexpr std::int64_t kSegmentFloats = 16;
  return (elements + kSegmentFloats - 1) / kSegmentFloats * kSegmentFloats;
}

inline Tensor part_of(const Tensor& block, std::int64_t begin, std::int64_t end) {
  return ops::slice(block, 0, begin, end);
}

}  // namespace trivet::detail
