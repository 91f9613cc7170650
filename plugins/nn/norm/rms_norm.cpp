// SPDX-License-Identifier: Apache-2.0
#include "nn/norm/rms_norm.h"

#include "nn/basic/checks.h"
#include "trivet/ops.h"

namespace trivet::nn {

RmsNorm::RmsNorm(const Config& config, Scope& scope)
    : path_(scope.path()),
      dim_(expect_set("nn/RmsNorm", path_, "dim", config.dim)),
      epsilon_(static_cast<float>(config.epsilon)),
      scale_(config.use_scale
                 ? &scope.parameter("scale", {config.dim}, {.init = {Init::constant, 1}})
                 : nullptr) {}

Tensor RmsNorm::fprop(const Tensor& x, FpropContext&) {
  expect_last("nn/RmsNorm", path_, x, dim_);
  return ops::rms_norm(x, scale_ != nullptr ? scale_->value() : Tensor(), epsilon_);
}

}  // namespace trivet::nn
