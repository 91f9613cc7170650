// SPDX-License-Identifier: Apache-2.0
#include "nn/norm/no_norm.h"

#include "nn/basic/checks.h"
#include "trivet/ops.h"

namespace trivet::nn {

NoNorm::NoNorm(const Config& config, Scope& scope)
    : path_(scope.path()),
      dim_(expect_set("nn/NoNorm", path_, "dim", config.dim)),
      scale_(scope.parameter("scale", {dim_}, {.init = {Init::constant, 1}})),
      bias_(scope.parameter("bias", {dim_}, {.init = {Init::constant, 0}})) {}

Tensor NoNorm::fprop(const Tensor& x, FpropContext&) {
  expect_last("nn/NoNorm", path_, x, dim_);
  return ops::add(ops::mul(x, scale_.value()), bias_.value());
}

}  // namespace trivet::nn
