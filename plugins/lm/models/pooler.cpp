// SPDX-License-Identifier: Apache-2.0
#include "lm/models/pooler.h"

#include "trivet/ops.h"

namespace trivet::lm {

Tensor position_of(const Tensor& h, std::int64_t i) {
  return ops::reshape(ops::contiguous(ops::slice(h, 1, i, i + 1)), {h.dim(0), h.dim(2)});
}

Pooler::Pooler(const EncoderConfig& config, const InitConfig& init, bool is_dense, Scope& scope) {
  if (!is_dense) return;
  dense_ = scope.layer("pooler", linear_of(config.model_dims, config.model_dims, "nn/Tanh", init));
}

Tensor Pooler::fprop(const Tensor& h, FpropContext& context) const {
  const Tensor first = position_of(h, 0);
  return dense_ ? dense_->fprop(first, context) : first;
}

}  // namespace trivet::lm
