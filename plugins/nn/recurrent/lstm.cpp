// SPDX-License-Identifier: Apache-2.0
#include "nn/recurrent/lstm.h"

#include <utility>

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
      options_{.coupled_gates = config.coupled_gates,
               .forget_gate_bias = static_cast<float>(config.forget_gate_bias),
               .cell_value_cap = static_cast<float>(config.cell_value_cap)},
      wm_(scope.parameter("wm", {config.input_dims + config.output_dims, width()},
                          {.init = config.init})),
      b_(scope.parameter("b", {width()}, {.init = {Init::constant, 0}})),
      ln_scale_(config.layer_norm
                    ? &scope.parameter("ln_scale", {width()}, {.init = {Init::constant, 1}})
                    : nullptr) {}

Tensor Lstm::project(const Tensor& x) const {
  // The bias follows the norm, which needs the state's part first.
  const Tensor bias = ln_scale_ != nullptr ? Tensor() : b_.value();
  return ops::linear(x, ops::slice(wm_.value(), 0, 0, input_dims_), bias);
}

Tensor Lstm::of_state() const {
  return ops::slice(wm_.value(), 0, input_dims_, input_dims_ + output_dims());
}

Tensor Lstm::normalized(const Tensor& gates) const {
  constexpr float kEpsilon = 1e-8f;
  const Tensor each = ops::reshape(gates, {gates.dim(0), options_.gates(), output_dims()});
  const Tensor normed = ops::reshape(ops::layer_norm(each, {}, {}, kEpsilon), gates.shape());
  return ops::add(ops::mul(normed, ln_scale_->value()), b_.value());
}

Recurrent::State Lstm::next(const Tensor& projected, const State& state) const {
  Tensor gates = ops::add(projected, ops::matmul(state[0], of_state()));
  if (ln_scale_ != nullptr) gates = normalized(gates);
  const LstmState after = ops::lstm_cell(gates, state[1], options_);
  return {after.h, after.c};
}

Tensor Lstm::scan(Tensor projected, State& state, const ScanOptions& positions) const {
  if (ln_scale_ != nullptr) return Recurrent::scan(std::move(projected), state, positions);
  const LstmState before = state.empty() ? LstmState() : LstmState{state[0], state[1]};
  const LstmResult after = ops::lstm(std::move(projected), of_state(), before, options_, positions);
  state = {last_output(after.h, positions.reverse), after.last_c};
  return after.h;
}

}  // namespace trivet::nn
