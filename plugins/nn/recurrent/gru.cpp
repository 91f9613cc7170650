// SPDX-License-Identifier: Apache-2.0
#include "nn/recurrent/gru.h"

#include <utility>

#include "trivet/ops.h"

namespace trivet::nn {

Gru::Gru(const Config& config, Scope& scope)
    : Recurrent("nn/Gru", config, 1, scope),
      w_(scope.parameter("w", {config.input_dims, 3 * config.output_dims}, {.init = config.init})),
      u_(scope.parameter("u", {config.output_dims, 3 * config.output_dims}, {.init = config.init})),
      b_(scope.parameter("b", {3 * config.output_dims}, {.init = {Init::constant, 0}})),
      c_(scope.parameter("c", {config.output_dims}, {.init = {Init::constant, 0}})) {}

Tensor Gru::project(const Tensor& x) const {
  return ops::linear(x, w_.value(), b_.value());
}

Recurrent::State Gru::next(const Tensor& projected, const State& state) const {
  return {ops::gru_cell(projected, state[0], weights())};
}

Tensor Gru::scan(Tensor projected, State& state, const ScanOptions& positions) const {
  const Tensor before = state.empty() ? Tensor() : state[0];
  const Tensor y = ops::gru(std::move(projected), weights(), before, positions);
  state = {last_output(y, positions.reverse)};
  return y;
}

}  // namespace trivet::nn
