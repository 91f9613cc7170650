// SPDX-License-Identifier: Apache-2.0
#include "nn/norm/layer_norm.h"

#include "nn/basic/checks.h"
#include "trivet/ops.h"

namespace trivet::nn {
namespace {

Parameter* vector(Scope& scope, std::string_view name, std::int64_t dim, double start) {
  return &scope.parameter(name, {dim}, {.init = {Init::constant, start}});
}

}  // namespace

LayerNorm::LayerNorm(const Config& config, Scope& scope)
    : path_(scope.path()),
      dim_(expect_set("nn/LayerNorm", path_, "dim", config.dim)),
      epsilon_(static_cast<float>(config.epsilon)),
      scale_(config.use_scale ? vector(scope, "scale", config.dim, 1) : nullptr),
      bias_(config.use_bias ? vector(scope, "bias", config.dim, 0) : nullptr) {}

Tensor LayerNorm::fprop(const Tensor& x, FpropContext&) {
  expect_last("nn/LayerNorm", path_, x, dim_);
  return ops::layer_norm(x, scale_ != nullptr ? scale_->value() : Tensor(),
                         bias_ != nullptr ? bias_->value() : Tensor(), epsilon_);
}

}  // namespace trivet::nn
