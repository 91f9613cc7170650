// SPDX-License-Identifier: Apache-2.0
#include "nn/recurrent/gru.h"

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
  const Tensor& h = state[0];
  const std::vector<Tensor> of_x = ops::split(projected, 1, 3);
  const std::vector<Tensor> of_h = ops::split(ops::matmul(h, u_.value()), 1, 3);
  const Tensor reset = ops::sigmoid(ops::add(of_x[0], of_h[0]));
  const Tensor update = ops::sigmoid(ops::add(of_x[1], of_h[1]));
  const Tensor candidate =
      ops::tanh(ops::add(of_x[2], ops::mul(reset, ops::add(of_h[2], c_.value()))));
  return {ops::add(candidate, ops::mul(update, ops::sub(h, candidate)))};
}

}  // namespace trivet::nn
