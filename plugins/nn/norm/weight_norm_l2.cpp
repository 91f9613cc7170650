// SPDX-License-Identifier: Apache-2.0
#include "nn/norm/weight_norm_l2.h"

#include "nn/basic/checks.h"
#include "trivet/ops.h"

namespace trivet::nn {

WeightNormL2::WeightNormL2(const Config& config, Scope& scope)
    : path_(scope.path()),
      dim_(expect_set("nn/WeightNormL2", path_, "dim", config.dim)),
      g_(scope.parameter("g", {dim_}, {.init = {Init::constant, 1}})) {}

Tensor WeightNormL2::fprop(const Tensor& v, FpropContext&) {
  expect_last("nn/WeightNormL2", path_, v, dim_);
  constexpr float kEpsilon = 1e-12F;
  const Tensor columns = ops::reshape(v, {v.size() / dim_, dim_});
  const Tensor squares = ops::sum(ops::square(columns), 0);
  const Tensor factor = ops::mul(g_.value(), ops::rsqrt(ops::add(squares, kEpsilon)));
  return ops::mul(v, factor);
}

}  // namespace trivet::nn
