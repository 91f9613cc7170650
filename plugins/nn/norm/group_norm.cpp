// SPDX-License-Identifier: Apache-2.0
#include "nn/norm/group_norm.h"

#include "nn/basic/checks.h"
#include "trivet/ops.h"

namespace trivet::nn {

void GroupNormConfig::validate(Diagnostics& diagnostics) const {
  if (dim % num_groups != 0) {
    diagnostics.add("num_groups", "does not divide dim = " + std::to_string(dim),
                    "all groups have the same number of channels");
  }
}

GroupNorm::GroupNorm(const Config& config, Scope& scope)
    : path_(scope.path()),
      dim_(expect_set("nn/GroupNorm", path_, "dim", config.dim)),
      groups_(config.num_groups),
      epsilon_(static_cast<float>(config.epsilon)),
      scale_(scope.parameter("scale", {dim_}, {.init = {Init::constant, 1}})),
      bias_(scope.parameter("bias", {dim_}, {.init = {Init::constant, 0}})) {}

Tensor GroupNorm::fprop(const Tensor& x, FpropContext&) {
  expect_last("nn/GroupNorm", path_, x, dim_);
  if (x.rank() < 2) wrong_input("nn/GroupNorm", path_, "[B, .., " + std::to_string(dim_) + "]", x);
  const std::int64_t examples = x.dim(0), depth = dim_ / groups_;
  if (x.size() == 0) return x;
  const std::int64_t positions = x.size() / (examples * dim_);
  // Each group becomes one row, for the norm kernel.
  const Tensor grouped =
      ops::transpose(ops::reshape(x, {examples, positions, groups_, depth}), {0, 2, 1, 3});
  const Tensor rows =
      ops::reshape(ops::contiguous(grouped), {examples, groups_, positions * depth});
  const Tensor normal = ops::layer_norm(rows, {}, {}, epsilon_);
  const Tensor back =
      ops::transpose(ops::reshape(normal, {examples, groups_, positions, depth}), {0, 2, 1, 3});
  const Tensor y = ops::reshape(ops::contiguous(back), x.shape());
  return ops::add(ops::mul(y, scale_.value()), bias_.value());
}

}  // namespace trivet::nn
