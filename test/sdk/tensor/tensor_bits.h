// SPDX-License-Identifier: Apache-2.0
// The bits of f32 tensors, for results that must be equal to the last one.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "trivet/tensor.h"

namespace trivet::test {

using Bits = std::vector<std::uint32_t>;

inline Bits bits_of(const Tensor& tensor) {
  Bits bits;
  for (const float value : tensor.to_host<float>()) {
    bits.push_back(std::bit_cast<std::uint32_t>(value));
  }
  return bits;
}

}  // namespace trivet::test
