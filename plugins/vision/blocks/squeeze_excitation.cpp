// SPDX-License-Identifier: Apache-2.0
#include "vision/blocks/squeeze_excitation.h"

#include <algorithm>

#include "trivet/ops.h"
#include "vision/blocks/parts.h"

namespace trivet::vision {

SqueezeExcitation::SqueezeExcitation(std::int64_t dims, double ratio, const InitConfig& init,
                                     const Scope& scope) {
  const auto inside =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(dims) * ratio));
  pool_ = scope.layer("pool", "nn/GlobalAvgPool2d");
  reduce_ = scope.layer("reduce", linear(dims, inside, "nn/Relu", init));
  expand_ = scope.layer("expand", linear(inside, dims, "nn/Sigmoid", init));
}

Tensor SqueezeExcitation::fprop(const Tensor& x, FpropContext& context) const {
  const Tensor gates = expand_->fprop(reduce_->fprop(pool_->fprop(x, context), context), context);
  return ops::mul(x, ops::reshape(gates, {x.dim(0), 1, 1, x.dim(3)}));
}

}  // namespace trivet::vision
