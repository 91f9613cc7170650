// SPDX-License-Identifier: Apache-2.0
#include "trivet/data/float_values.h"

#include <algorithm>

#include "trivet/backend/half.h"
#include "trivet/error.h"

namespace trivet {

bool holds_floats(const SafetensorsEntry& entry) {
  return entry.dtype == DType::f32 || entry.dtype == DType::bf16 || entry.dtype == DType::f16;
}

std::vector<float> floats_of(const SafetensorsEntry& entry) {
  if (!holds_floats(entry)) {
    throw Error(entry.name + " is " + std::string(name_of(entry.dtype)) + ", not f32, bf16 or f16");
  }
  std::vector<float> out(static_cast<std::size_t>(entry.shape.size()));
  if (entry.dtype == DType::f32) {
    std::copy(entry.data.begin(), entry.data.end(), std::as_writable_bytes(std::span(out)).begin());
    return out;
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto low = static_cast<unsigned>(entry.data[2 * i]);
    const auto high = static_cast<unsigned>(entry.data[2 * i + 1]);
    const auto bits = static_cast<std::uint16_t>(low | high << 8);
    out[i] = entry.dtype == DType::bf16 ? float_from_bf16(bits) : float_from_f16(bits);
  }
  return out;
}

}  // namespace trivet
