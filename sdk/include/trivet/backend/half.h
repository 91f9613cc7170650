// SPDX-License-Identifier: Apache-2.0
// Conversions between float and the two 16-bit float formats, one implementation for the host,
// backends and tests.
//
// Rounding is to the nearest, ties to even; overflow gives infinity; a NaN stays a (quiet) NaN.
// Pure functions of the bits: they do not depend on flush-to-zero or on the rounding mode of the
// calling thread, except that float denormals (below 2^-126) may become zero when converted to f16,
// whose smallest number is 2^-24 anyway.
#pragma once

#include <bit>
#include <cstdint>

namespace trivet {

inline float float_from_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

inline std::uint16_t bf16_from_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

inline float float_from_f16(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1fu;
  const std::uint32_t fraction = bits & 0x3ffu;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | (fraction << 13));
  if (exponent != 0) {
    return std::bit_cast<float>(sign | ((exponent + 112u) << 23) | (fraction << 13));
  }
  const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
}

inline std::uint16_t f16_from_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  std::uint32_t out;
  if (magnitude > 0x7f800000u) {
    out = 0x7e00u;
  } else if (magnitude >= 0x47800000u) {  // 65536 and above, infinity included
    out = 0x7c00u;
  } else if (magnitude < 0x38800000u) {
    // Below 2^-14 an f16 is a multiple of 2^-24, which is the spacing of floats in [0.5, 1).
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    out = std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u;
  } else {
    out = (magnitude - (112u << 23) + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  }
  return static_cast<std::uint16_t>(sign | out);
}

}  // namespace trivet
