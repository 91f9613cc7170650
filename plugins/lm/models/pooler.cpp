// SPDX-License-Identifier: Apache-2.0
#include "lm/models/pooler.h"

#include "trivet/ops.h"

namespace trivet::lm {

Tensor first_position(const Tensor& h) {
  return ops::reshape(ops::contiguous(ops::slice(h, 1, 0, 1)), {h.dim(0), h.dim(2)});
}

Pooler::Pooler(const EncoderConfig& config, const InitConfig& init, bool is_dense, Scope& scope) {
  if (!is_dense) return;
  dense_ = scope.layer("pooler", linear_of(config.model_dims, config.model_dims, "nn/Tanh", init));
}

Tensor Pooler::fprop(const Tensor& h, FpropContext& context) const {
  const Tensor first = first_position(h);
  return dense_ ? dense_->fprop(first, context) : first;
}

}  // namespace trivet::lm
