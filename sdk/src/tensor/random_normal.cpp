// SPDX-License-Identifier: Apache-2.0
// Uniform and normal numbers with the same bits on every machine: only +, -, *, /, sqrt and integer
// operations on doubles (exact by IEEE 754), no libm, and this file is compiled with
// -ffp-contract=off.
#include <bit>
#include <cmath>

#include "trivet/tensor/random.h"

namespace trivet {
namespace {

constexpr double kTwoToMinus32 = 1.0 / 4294967296.0;
constexpr double kHalfPi = 1.57079632679489661923;
constexpr double kLog2 = 0.69314718055994530942;

// log(x) for normal x > 0: x = m 2^e with m in [sqrt 1/2, sqrt 2), log m = 2 artanh(s), s = (m - 1)
// / (m + 1). The series stops below 1e-17 for |s| <= 0.172.
double log_of(double x) {
  auto bits = std::bit_cast<std::uint64_t>(x);
  int exponent = static_cast<int>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0xfffffffffffff) | std::uint64_t{1023} << 52);
  if (m > 1.41421356237309504880) {
    m *= 0.5;
    ++exponent;
  }
  const double s = (m - 1) / (m + 1), z = s * s;
  double series = 0;
  for (int k = 23; k >= 1; k -= 2) series = series * z + 1.0 / k;
  return exponent * kLog2 + 2 * s * series;
}

struct SinCos {
  double sin, cos;
};

// Sine and cosine of 2 pi u, u in [0, 1): the nearest quarter turn is taken off exactly, Taylor
// series on the rest (at most pi/4, where the first term left out is below 1e-17).
SinCos sincos_turns(double u) {
  const int quarter = static_cast<int>(4 * u + 0.5);
  const double t = (4 * u - quarter) * kHalfPi, z = t * t;
  double sine = 1, cosine = 1;
  for (int k = 18; k >= 2; k -= 2) {
    cosine = 1 - z / (k * (k - 1)) * cosine;
    sine = 1 - z / (k * (k + 1)) * sine;
  }
  sine *= t;
  switch (quarter % 4) {
    case 0:
      return {sine, cosine};
    case 1:
      return {cosine, -sine};
    case 2:
      return {-sine, -cosine};
    default:
      return {-cosine, sine};
  }
}

// The two standard normal numbers of a block (Box and Muller 1958), elements 2 * block and 2 *
// block + 1.
SinCos normal_pair(std::uint64_t key, std::uint64_t block) {
  const std::uint64_t words = threefry(key, block);
  // The half keeps the logarithm away from 0: numbers reach 6.76 standard deviations.
  const double u = (static_cast<double>(static_cast<std::uint32_t>(words)) + 0.5) * kTwoToMinus32;
  const double v = static_cast<double>(words >> 32) * kTwoToMinus32;
  const double radius = std::sqrt(-2 * log_of(u));
  SinCos turn = sincos_turns(v);
  return {radius * turn.sin, radius * turn.cos};
}

double normal_element(std::uint64_t key, std::uint64_t element) {
  SinCos pair = normal_pair(key, element / 2);
  return element % 2 == 0 ? pair.cos : pair.sin;
}

}  // namespace

void random_uniform(RngKey key, double low, double high, std::span<float> out,
                    std::uint64_t first) {
  std::uint64_t block = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::uint64_t element = first + i;
    if (i == 0 || element % 2 == 0) block = threefry(key.value(), element / 2);
    const auto word = static_cast<std::uint32_t>(element % 2 == 0 ? block : block >> 32);
    auto value = static_cast<float>(low + (high - low) * (word * kTwoToMinus32));
    // Rounding to float may reach the upper bound, which does not belong to the interval.
    if (value >= high && high > low) value = std::nextafterf(value, static_cast<float>(low));
    out[i] = value;
  }
}

void random_normal(RngKey key, double mean, double stddev, std::span<float> out,
                   std::uint64_t first) {
  const auto scaled = [&](double z) { return static_cast<float>(mean + stddev * z); };
  std::size_t i = 0;
  if (first % 2 == 1 && !out.empty()) out[i++] = scaled(normal_element(key.value(), first));
  for (; i < out.size(); i += 2) {
    const SinCos pair = normal_pair(key.value(), (first + i) / 2);
    out[i] = scaled(pair.cos);
    if (i + 1 < out.size()) out[i + 1] = scaled(pair.sin);
  }
}

void random_truncated_normal(RngKey key, double mean, double stddev, std::span<float> out,
                             std::uint64_t first) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::uint64_t element = first + i;
    double z = normal_element(key.value(), element);
    // Every further attempt is the same element of another key's array, so elements stay
    // independent of each other.
    for (std::uint64_t attempt = 1; !(z >= -2 && z <= 2); ++attempt) {
      z = normal_element(key.fold(attempt).value(), element);
    }
    out[i] = static_cast<float>(mean + stddev * z);
  }
}

}  // namespace trivet
