// SPDX-License-Identifier: Apache-2.0
// Quantization in double, from the formulas of Praxis' TensorQuantizer.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace trivet::test {

struct QuantizationCase {
  int bits = 8;
  bool symmetric = true;
  bool unsigned_bounds = false;
  double clipping = 1;
};

// One group of numbers that share a scale.
struct QuantizedGroup {
  double scale = 0, zero = 0;
  std::vector<double> integers, values;
  std::vector<bool> inside;
};

inline QuantizedGroup quantized_group(const std::vector<double>& x, const QuantizationCase& how) {
  const double low = how.unsigned_bounds ? 0 : -std::exp2(how.bits - 1);
  const double high = std::exp2(how.bits - (how.unsigned_bounds ? 0 : 1)) - 1;
  const double smallest = how.clipping * *std::min_element(x.begin(), x.end());
  const double largest = how.clipping * *std::max_element(x.begin(), x.end());
  QuantizedGroup group;
  if (how.symmetric) {
    group.scale = std::max(-smallest, largest) / high;
  } else {
    group.scale = (largest - smallest) / (high - low);
    group.zero = low - smallest / group.scale;
  }
  for (const double number : x) {
    const double rounded = std::floor(number / group.scale + group.zero + 0.5);
    const double integer = std::clamp(rounded, low, high);
    group.integers.push_back(integer);
    group.inside.push_back(integer == rounded);
    group.values.push_back(group.scale * (integer - group.zero));
  }
  return group;
}

}  // namespace trivet::test
