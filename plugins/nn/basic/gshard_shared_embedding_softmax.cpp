// SPDX-License-Identifier: Apache-2.0
#include "nn/basic/gshard_shared_embedding_softmax.h"

#include "nn/basic/checks.h"
#include "trivet/tape.h"

namespace trivet::nn {
namespace {

constexpr const char* kGShard = "nn/GShardSharedEmbeddingSoftmax";

// A label that gets p / n as every other class does, as well as 1 - p, is one with a smoothing of
// p (n - 1) / n in the sense of FullSoftmax.
SoftmaxConfig plain(const GShardSharedEmbeddingSoftmaxConfig& config) {
  const auto n = static_cast<double>(config.num_classes);
  SoftmaxConfig softmax;
  softmax.input_dims = config.input_dims;
  softmax.num_classes = config.num_classes;
  softmax.soft_cap_logits = config.soft_cap_logits;
  softmax.scale_before_logits = true;
  softmax.label_smoothing_prob = config.label_smoothing_prob * (n - 1) / n;
  softmax.z_loss_weight = config.z_loss_weight;
  return softmax;
}

Shape sized(const GShardSharedEmbeddingSoftmaxConfig& config, const Scope& scope) {
  return {expect_set(kGShard, scope.path(), "num_classes", config.num_classes),
          expect_set(kGShard, scope.path(), "input_dims", config.input_dims)};
}

}  // namespace

GShardSharedEmbeddingSoftmax::GShardSharedEmbeddingSoftmax(const Config& config, Scope& scope)
    : SoftmaxLayer(kGShard, plain(config), /*has_bias=*/false, scope,
                   scope.parameter("table", sized(config, scope),
                                   {.init = config.init,
                                    .fallback = {Init::normal, 1},
                                    .blocks = blocks_of(config.weight_split_dims_mapping.wt,
                                                        sized(config, scope), 0, scope)}),
                   Weights::by_class, config.logits_abs_max),
      count_all_(config.use_tgt_labels_size_as_loss_denominator) {}

SoftmaxLoss GShardSharedEmbeddingSoftmax::loss(const Tensor& h, const Tensor& labels,
                                               const Tensor& weights, FpropContext& context,
                                               const SoftmaxLossOptions& options) {
  SoftmaxLoss out = SoftmaxLayer::loss(h, labels, weights, context, options);
  if (!count_all_) return out;
  out.total_weight = Tensor::scalar(weights.device(), static_cast<float>(weights.shape().size()));
  out.avg_xent = average(out.total_xent, out.total_weight);
  return out;
}

Tensor GShardSharedEmbeddingSoftmax::emb_lookup(const Tensor& ids, FpropContext&) {
  if (ids.dtype() != DType::i32) wrong_input(type(), path(), "ids of type i32", ids);
  return ops::gather_rows(weights(), ids);
}

}  // namespace trivet::nn
