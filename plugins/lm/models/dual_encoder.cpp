// SPDX-License-Identifier: Apache-2.0
#include "lm/models/dual_encoder.h"

#include "trivet/ops.h"

namespace trivet::lm {
namespace {

constexpr const char* kDualEncoder = "lm/DualEncoder";
// The smallest squared length that embeddings are divided by, as tf.nn.l2_normalize has it.
constexpr float kLeastSquare = 1e-12F;

// Each row has length 1, but for the shortest.
Tensor unit_rows(const Tensor& x) {
  const Tensor squares = ops::sum(ops::square(x), 1, {.keep_dims = true});
  const Tensor least = Tensor::full(x.device(), squares.shape(), kLeastSquare);
  return ops::mul(x, ops::rsqrt(ops::max(squares, least)));
}

}  // namespace

DualEncoder::DualEncoder(const Config& config, Scope& scope)
    : embedding_(own_embedding(config, config.embedding_tpl, scope)),
      encoder_(config, scope, kDualEncoder),
      pooler_(config, config.init, config.use_pooler, scope),
      normalize_(config.normalize) {}

Tensor DualEncoder::embed(const Batch& batch, FpropContext& context) const {
  const Tensor pooled = pooler_.fprop(encoder_.fprop(embedding_, batch, context), context);
  return normalize_ ? unit_rows(pooled) : pooled;
}

NestedMap DualEncoder::fprop(const Batch& batch, FpropContext& context) {
  const Batch left = batch.child("left"), right = batch.child("right");
  NestedMap outputs{{"left", embed(left.empty() ? batch : left, context)}};
  if (!right.empty()) outputs.set("right", embed(right, context));
  return outputs;
}

}  // namespace trivet::lm
