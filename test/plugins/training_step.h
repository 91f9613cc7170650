// SPDX-License-Identifier: Apache-2.0
// One training step of a layer with all its effects; and layers from tables.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "support/layer_fixture.h"
#include "trivet/layer.h"
#include "trivet/layer/parameter_store.h"
#include "trivet/ops.h"
#include "trivet/tape.h"
#include "trivet/tensor/device.h"

namespace trivet::test {

inline Value with(const char* type,
                  std::initializer_list<std::pair<std::string_view, Value>> fields) {
  Value config = Value::table(fields);
  config.set("type", type);
  return config;
}

inline LayerFixture made(const std::string& backend, Value config) {
  const std::string key = config.find("type")->as_string();
  config.erase("type");
  return {backend, {key, std::move(config)}};
}

// One training step: its output, all gradients, and counts.
struct Step {
  std::vector<float> y, input_gradient, gradients;
  std::map<std::string, float> aux_losses;
  double flops = 0;
  std::size_t ops = 0;
};

inline Step step_of(Layer& layer, ParameterStore& store, const Tensor& x,
                    FpropContext context = {}) {
  Step step;
  GradientSlot slot;
  const bool numbers = x.dtype() == DType::f32;
  context.train = true;
  context.key = RngKey(3);
  const double flops = x.device().flops();
  Tape tape;
  Tensor loss;
  {
    Tape::Recording recording(tape);
    const Tensor y = layer.fprop(numbers ? make_leaf(x, slot) : x, context);
    step.y = y.to_host<float>();
    loss = ops::sum(ops::square(y));
    for (const auto& [name, aux] : context.aux_losses) {
      step.aux_losses[name] = aux.item();
      loss = ops::add(loss, aux);
    }
  }
  step.ops = tape.size();
  store.begin_gradients();
  tape.backward(loss);
  store.end_gradients();
  step.flops = x.device().flops() - flops;
  step.gradients = store.trainable_gradients().to_host<float>();
  if (numbers) step.input_gradient = slot.gradient.to_host<float>();
  return step;
}

inline void check_equal(const Step& got, const Step& want) {
  CHECK(got.y == want.y);
  CHECK(got.gradients == want.gradients);
  CHECK(got.input_gradient == want.input_gradient);
  CHECK(got.aux_losses == want.aux_losses);
  CHECK(got.flops == want.flops);
}

}  // namespace trivet::test
