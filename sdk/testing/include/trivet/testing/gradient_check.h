// SPDX-License-Identifier: Apache-2.0
// Gradient check: compares what the tape computes with central differences.
//
// Example (sdk/examples/snippets/checks.cpp#gradients):
//
//   const auto swish = [](std::span<const trivet::Tensor> in) {
//     return trivet::ops::mul(in[0], trivet::ops::sigmoid(in[0]));
//   };
//   const trivet::Tensor inputs[] = {x};
//   REQUIRE(trivet::testing::check_gradients(swish, inputs) == "");
//
// The scalar that is differentiated is sum(weight * output) with fixed random weights, added up in
// double, so that every output takes part and errors do not cancel.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "trivet/tensor.h"

namespace trivet::testing {

struct GradientCheckOptions {
  // The step h for an element x is step * max(1, |x|). Outputs are f32, so the difference quotient
  // carries a rounding error of about 1e-7 |y| / h beside the truncation error h^2 |y'''| / 6;
  // 1e-2 makes both about 1e-5 for functions of ordinary size.
  double step = 1e-2;
  // An element passes when |tape - difference| <= absolute + relative * max of the two. Keep inputs
  // a step away from kinks (relu, max, abs), where no tolerance helps.
  double relative = 1e-2;
  double absolute = 1e-3;
  // Inputs to leave alone, by index (targets, masks).
  std::vector<std::size_t> constant;
  std::uint64_t seed = 1;  // of the weights
};

// Empty when all gradients agree, otherwise a text with the worst element of each input that does
// not. `f` is called many times with tensors of the inputs' shapes on their device; it must be a
// function of nothing else. Costs two calls per element. Throws what `f` throws. [run-thread]
std::string check_gradients(const std::function<Tensor(std::span<const Tensor>)>& f,
                            std::span<const Tensor> inputs,
                            const GradientCheckOptions& options = {});

}  // namespace trivet::testing
