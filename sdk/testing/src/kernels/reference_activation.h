// SPDX-License-Identifier: Apache-2.0
// Activations and their derivatives in double, straight from their definitions.
#pragma once

#include <cmath>

#include "trivet/backend/backend.h"

namespace trivet::testing {

inline double normal_cdf(double x) {
  return 0.5 * std::erfc(-x / std::sqrt(2.0));
}
inline double gelu_inner(double x) {
  return std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x);
}

// Gated kinds: the part that is applied to the first half.
inline double activate(int kind, double x) {
  switch (kind) {
    case TV_ACT_RELU:
      return x < 0 ? 0 : x;
    case TV_ACT_TANH:
      return std::tanh(x);
    case TV_ACT_SIGMOID:
      return 1 / (1 + std::exp(-x));
    case TV_ACT_GELU:
    case TV_ACT_GEGLU:
      return x * normal_cdf(x);
    case TV_ACT_GELU_TANH:
    case TV_ACT_GEGLU_TANH:
      return 0.5 * x * (1 + std::tanh(gelu_inner(x)));
    case TV_ACT_SILU:
    case TV_ACT_SWIGLU:
      return x / (1 + std::exp(-x));
    default:
      return x;
  }
}

// The derivative at what the gradient is given: the output for relu, tanh and sigmoid, else the
// input.
inline double activation_slope(int kind, double saved) {
  switch (kind) {
    case TV_ACT_RELU:
      return saved <= 0 ? 0 : 1;
    case TV_ACT_TANH:
      return 1 - saved * saved;
    case TV_ACT_SIGMOID:
      return saved * (1 - saved);
    case TV_ACT_NONE:
      return 1;
    default:
      break;
  }
  if (kind == TV_ACT_GELU || kind == TV_ACT_GEGLU) {
    const double density = std::exp(-saved * saved / 2) / std::sqrt(2 * std::acos(-1.0));
    return normal_cdf(saved) + saved * density;
  }
  if (kind == TV_ACT_GELU_TANH || kind == TV_ACT_GEGLU_TANH) {
    const double t = std::tanh(gelu_inner(saved));
    const double inner = std::sqrt(2 / std::acos(-1.0)) * (1 + 3 * 0.044715 * saved * saved);
    return 0.5 * (1 + t) + 0.5 * saved * (1 - t * t) * inner;
  }
  const double s = 1 / (1 + std::exp(-saved));
  return s * (1 + saved * (1 - s));
}

}  // namespace trivet::testing
