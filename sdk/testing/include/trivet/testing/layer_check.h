// SPDX-License-Identifier: Apache-2.0
// Gradient check of a whole layer: its input and every trainable parameter, against central
// differences.
//
// Example (sdk/examples/snippets/checks.cpp#layer):
//
//   trivet::ParameterStore store(device, trivet::RngKey(1));
//   auto layer = trivet::Scope(store).layer("layer", {"acme/Scale", fields});
//   store.build();
//   REQUIRE(trivet::testing::check_layer_gradients(*layer, store, x) == "");
//
// What is differentiated, the steps and the tolerances are those of gradient_check.h.
#pragma once

#include <string>

#include "trivet/layer.h"
#include "trivet/layer/scope.h"
#include "trivet/tensor.h"
#include "trivet/testing/gradient_check.h"

namespace trivet::testing {

struct LayerCheckOptions {
  bool train = false;  // FpropContext::train; the key and the step are the same in all calls
  GradientCheckOptions gradients{};
};

// Empty when all gradients agree, otherwise a text with the worst element of the input and of each
// parameter that does not. The input is left out where it holds integers. Parameters have their
// values back afterwards; states that the layer changes in training keep what it made of them.
// `store` must be built and hold the layer's parameters. Throws what the layer throws. [run-thread]
std::string check_layer_gradients(Layer& layer, ParameterStore& store, const Tensor& x,
                                  const LayerCheckOptions& options = {});

}  // namespace trivet::testing
