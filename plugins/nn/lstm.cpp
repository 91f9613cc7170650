// SPDX-License-Identifier: Apache-2.0
#include "lstm.h"

#include "trivet/ops.h"

namespace trivet::nn {

Lstm::Lstm(const Config& config, Scope& scope)
    : Recurrent("nn/Lstm", config, 2, scope),
      input_dims_(config.input_dims),
      forget_gate_bias_(static_cast<float>(config.forget_gate_bias)),
      cap_(static_cast<float>(config.cell_value_cap)),
      wm_(scope.parameter("wm", {config.input_dims + config.output_dims, 4 * config.output_dims},
                          {.init = config.init})),
      b_(scope.parameter("b", {4 * config.output_dims}, {.init = {Init::constant, 0}})) {}

Tensor Lstm::project(const Tensor& x) const {
  return ops::linear(x, ops::slice(wm_.value(), 0, 0, input_dims_), b_.value());
}

Recurrent::State Lstm::next(const Tensor& projected, const State& state) const {
  const Tensor of_state = ops::slice(wm_.value(), 0, input_dims_, input_dims_ + output_dims());
  const std::vector<Tensor> parts =
      ops::split(ops::add(projected, ops::matmul(state[0], of_state)), 1, 4);
  const Tensor forget = ops::sigmoid(ops::add(parts[2], forget_gate_bias_));
  Tensor cell =
      ops::add(ops::mul(forget, state[1]), ops::mul(ops::sigmoid(parts[1]), ops::tanh(parts[0])));
  if (cap_ > 0) {
    Device& device = cell.device();
    cell = ops::max(ops::min(cell, Tensor::scalar(device, cap_)), Tensor::scalar(device, -cap_));
  }
  return {ops::mul(ops::sigmoid(parts[3]), ops::tanh(cell)), cell};
}

}  // namespace trivet::nn
