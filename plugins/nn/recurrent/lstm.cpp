// SPDX-License-Identifier: Apache-2.0
#include "nn/recurrent/lstm.h"

#include "trivet/ops.h"

namespace trivet::nn {

void LstmConfig::validate(Diagnostics& diagnostics) const {
  if (coupled_gates && forget_gate_bias != 0) {
    diagnostics.add("forget_gate_bias", "coupled gates have no forget gate",
                    "leave it at 0, or set coupled_gates = false");
  }
}

Lstm::Lstm(const Config& config, Scope& scope)
    : Recurrent("nn/Lstm", config, 2, scope),
      input_dims_(config.input_dims),
      gates_(config.coupled_gates ? 3 : 4),
      forget_gate_bias_(static_cast<float>(config.forget_gate_bias)),
      cap_(static_cast<float>(config.cell_value_cap)),
      wm_(scope.parameter("wm",
                          {config.input_dims + config.output_dims, gates_ * config.output_dims},
                          {.init = config.init})),
      b_(scope.parameter("b", {gates_ * config.output_dims}, {.init = {Init::constant, 0}})),
      ln_scale_(config.layer_norm ? &scope.parameter("ln_scale", {gates_ * config.output_dims},
                                                     {.init = {Init::constant, 1}})
                                  : nullptr) {}

Tensor Lstm::project(const Tensor& x) const {
  // The bias follows the norm, which needs the state's part first.
  const Tensor bias = ln_scale_ != nullptr ? Tensor() : b_.value();
  return ops::linear(x, ops::slice(wm_.value(), 0, 0, input_dims_), bias);
}

Tensor Lstm::normalized(const Tensor& gates) const {
  constexpr float kEpsilon = 1e-8f;
  const Tensor each = ops::reshape(gates, {gates.dim(0), gates_, output_dims()});
  const Tensor normed = ops::reshape(ops::layer_norm(each, {}, {}, kEpsilon), gates.shape());
  return ops::add(ops::mul(normed, ln_scale_->value()), b_.value());
}

Tensor Lstm::next_cell(const std::vector<Tensor>& gates, const Tensor& cell) const {
  const Tensor input = ops::tanh(gates[0]), lets_in = ops::sigmoid(gates[1]);
  if (coupled()) return ops::add(cell, ops::mul(lets_in, ops::sub(input, cell)));
  const Tensor forget = ops::sigmoid(ops::add(gates[2], forget_gate_bias_));
  return ops::add(ops::mul(forget, cell), ops::mul(lets_in, input));
}

Recurrent::State Lstm::next(const Tensor& projected, const State& state) const {
  const Tensor of_state = ops::slice(wm_.value(), 0, input_dims_, input_dims_ + output_dims());
  Tensor all = ops::add(projected, ops::matmul(state[0], of_state));
  if (ln_scale_ != nullptr) all = normalized(all);
  const std::vector<Tensor> gates = ops::split(all, 1, gates_);
  Tensor cell = next_cell(gates, state[1]);
  if (cap_ > 0) {
    Device& device = cell.device();
    cell = ops::max(ops::min(cell, Tensor::scalar(device, cap_)), Tensor::scalar(device, -cap_));
  }
  return {ops::mul(ops::sigmoid(gates.back()), ops::tanh(cell)), cell};
}

}  // namespace trivet::nn
