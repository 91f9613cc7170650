// SPDX-License-Identifier: Apache-2.0
// The 16-bit floats of trivet/backend/half.h, over all of their 65,536 patterns where samples are
// not enough.
#include "trivet/backend/half.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include <catch2/catch.hpp>

#include "trivet/tensor.h"

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Format {
  const char* name;
  int fraction_bits, bias;  // of IEEE 754 binary16, and of the upper half of a binary32
  std::uint16_t infinity;
  float (*widen)(std::uint16_t);
  std::uint16_t (*narrow)(float);
};

const Format kFormats[] = {
    {"f16", 10, 15, 0x7c00, trivet::float_from_f16, trivet::f16_from_float},
    {"bf16", 7, 127, 0x7f80, trivet::float_from_bf16, trivet::bf16_from_float},
};

// The definition: (-1)^s 2^(e - bias) 1.fraction, and 2^(1 - bias) 0.fraction where e is 0.
double defined_value(const Format& format, std::uint16_t bits) {
  const int scale = 1 << format.fraction_bits;
  const int exponent = (bits & 0x7fff) >> format.fraction_bits, fraction = bits & (scale - 1);
  const double magnitude =
      exponent == 0 ? std::ldexp(fraction, 1 - format.bias - format.fraction_bits)
                    : std::ldexp(scale + fraction, exponent - format.bias - format.fraction_bits);
  return bits & 0x8000 ? -magnitude : magnitude;
}

// Counts patterns for which `fits` is false; a CHECK per pattern would be 65,536 of them.
template <class Fits>
int misfits(std::uint32_t end, Fits fits) {
  int count = 0;
  for (std::uint32_t bits = 0; bits < end; ++bits) {
    count += fits(static_cast<std::uint16_t>(bits)) ? 0 : 1;
  }
  return count;
}

}  // namespace

TEST_CASE("a 16-bit float widens to the number its format defines, denormals included") {
  for (const Format& format : kFormats) {
    INFO(format.name);
    CHECK(misfits(0x10000, [&](std::uint16_t bits) {
            const float wide = format.widen(bits);
            if ((bits & 0x7fff) > format.infinity) return std::isnan(wide);
            if ((bits & 0x7fff) == format.infinity) {
              return wide == (bits & 0x8000 ? -kInfinity : kInfinity);
            }
            return wide == defined_value(format, bits) && std::signbit(wide) == (bits >= 0x8000);
          }) == 0);
  }
}

TEST_CASE("a 16-bit float that was widened narrows to its own bits, and a NaN to a quiet NaN") {
  for (const Format& format : kFormats) {
    INFO(format.name);
    const int quiet = 1 << (format.fraction_bits - 1);
    CHECK(misfits(0x10000, [&](std::uint16_t bits) {
            const std::uint16_t back = format.narrow(format.widen(bits));
            if ((bits & 0x7fff) <= format.infinity) return back == bits;
            return (back & 0x7fff) > format.infinity && (back & quiet) != 0 &&
                   (back & 0x8000) == (bits & 0x8000);
          }) == 0);
  }
}

// The last step, from the largest number to infinity, is a step like the others.
TEST_CASE("narrowing rounds to the nearest number, and half-way to the even one") {
  for (const Format& format : kFormats) {
    INFO(format.name);
    CHECK(misfits(format.infinity, [&](std::uint16_t bits) {
            const auto next = static_cast<std::uint16_t>(bits + 1);
            // Midpoints have few digits, so they are exact in a float.
            const auto middle =
                static_cast<float>((defined_value(format, bits) + defined_value(format, next)) / 2);
            const std::uint16_t even = bits % 2 == 0 ? bits : next;
            return format.narrow(middle) == even &&
                   format.narrow(std::nextafter(middle, 0.0F)) == bits &&
                   format.narrow(std::nextafter(middle, kInfinity)) == next &&
                   format.narrow(-middle) == (even | 0x8000);
          }) == 0);
  }
}

TEST_CASE("values too large for a 16-bit float become infinity, and NaN stays NaN") {
  // 65504 is the largest f16, 65520 half-way to the next power of two.
  CHECK(trivet::f16_from_float(65519.996F) == 0x7bff);
  CHECK(trivet::f16_from_float(65520.0F) == 0x7c00);
  CHECK(trivet::f16_from_float(-1e30F) == 0xfc00);
  CHECK(trivet::bf16_from_float(std::numeric_limits<float>::max()) == 0x7f80);
  for (const Format& format : kFormats) {
    INFO(format.name);
    CHECK(format.narrow(kInfinity) == format.infinity);
    CHECK(format.narrow(-kInfinity) == (format.infinity | 0x8000));
    CHECK((format.narrow(kNan) & 0x7fff) > format.infinity);
    // Its whole fraction is in the bits that are dropped.
    CHECK((format.narrow(std::bit_cast<float>(0x7f800001u)) & 0x7fff) > format.infinity);
  }
}

TEST_CASE("values too small for an f16 become a zero of their sign") {
  CHECK(trivet::f16_from_float(0x1p-25F) == 0);  // half-way to the smallest number: even is zero
  CHECK(trivet::f16_from_float(-0x1p-25F) == 0x8000);
  CHECK(trivet::f16_from_float(0x1.8p-25F) == 1);
  CHECK(trivet::f16_from_float(0x1p-126F) == 0);
}

TEST_CASE("a tensor of 16-bit floats reads as the numbers it holds") {
  std::vector<std::uint16_t> all(0x10000);
  std::iota(all.begin(), all.end(), std::uint16_t{0});
  for (const Format& format : kFormats) {
    INFO(format.name);
    const bool is_f16 = format.bias == 15;
    trivet::Tensor tensor =
        trivet::Tensor::host({0x10000}, is_f16 ? trivet::DType::f16 : trivet::DType::bf16);
    tensor.assign_bytes(std::as_bytes(std::span<const std::uint16_t>(all)));
    const std::vector<float> wide = tensor.to_host<float>();
    CHECK(misfits(0x10000, [&](std::uint16_t bits) {
            return std::bit_cast<std::uint32_t>(wide[bits]) ==
                   std::bit_cast<std::uint32_t>(format.widen(bits));
          }) == 0);
  }
}
