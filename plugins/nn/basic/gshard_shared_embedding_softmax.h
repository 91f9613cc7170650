// SPDX-License-Identifier: Apache-2.0
// GShardSharedEmbeddingSoftmax: the softmax of GShard's language models, as in Praxis.
//
//   logits = clip(cap(h table^T / sqrt(input_dims))), cap(x) = c tanh(x / c), without bias
//
// Parameter "table" [num_classes, input_dims], normal with standard deviation 1 unless set;
// emb_lookup looks up its rows as they are. It differs from nn/SharedEmbeddingSoftmax in training:
//
//   q = 1 - label_smoothing_prob + label_smoothing_prob / num_classes for the label and
//   label_smoothing_prob / num_classes for each other class, and
//   avg_xent = total_xent / (number of rows), rows of weight 0 included, and that number is the
//   total_weight, by which averages over batches weigh it; or, without
//   use_tgt_labels_size_as_loss_denominator, total_xent / (sum of the weights).
//
// The z-loss is a part of the rows' losses; Praxis adds it to the loss separately, with one sum.
#pragma once

#include "nn/basic/embedding.h"
#include "nn/basic/softmax.h"

namespace trivet::nn {

struct GShardSharedEmbeddingSoftmaxConfig : LayerConfig {
  std::int64_t input_dims = 0;
  std::int64_t num_classes = 0;
  bool use_tgt_labels_size_as_loss_denominator = true;
  double soft_cap_logits = 0;
  double logits_abs_max = 0;
  double label_smoothing_prob = 0;
  double z_loss_weight = 0;
  InitConfig init;
  EmbeddingSplitConfig weight_split_dims_mapping;
};
TRIVET_CONFIG(
    GShardSharedEmbeddingSoftmaxConfig, trivet::LayerConfig,
    (input_dims, "Depth of the input; 0 in a template: as the model around it.", at_least(0)),
    (num_classes,
     "Depth of the logits, the size of a vocabulary; 0 in a template: as the model around it.",
     at_least(0)),
    (use_tgt_labels_size_as_loss_denominator,
     "Divides the loss by the number of all labels, including labels of weight 0; false: by the "
     "sum of the weights."),
    (soft_cap_logits, "Bounds logits to c tanh(x / c); 0: no bound.", at_least(0)),
    (logits_abs_max,
     "Clips logits to this absolute value, after soft_cap_logits; 0: no clip. With it the loss "
     "keeps the logits of a whole batch in memory.",
     at_least(0)),
    (label_smoothing_prob, "Share of the wanted distribution that all classes divide in training.",
     at_least(0), less_than(1), adjustable),
    (z_loss_weight, "Factor of the squared log of the sum of exponentials in training.",
     at_least(0), adjustable),
    (init, "Initializer of the table. Default: normal with standard deviation 1."),
    (weight_split_dims_mapping,
     "Axes of the mesh over which the table is split; mdl splits classes only. Only mdl has an "
     "effect.",
     adjustable))

class GShardSharedEmbeddingSoftmax final : public SoftmaxLayer {
 public:
  using Config = GShardSharedEmbeddingSoftmaxConfig;
  GShardSharedEmbeddingSoftmax(const Config& config, Scope& scope);
  SoftmaxLoss loss(const Tensor& h, const Tensor& labels, const Tensor& weights,
                   FpropContext& context, const SoftmaxLossOptions& options) override;
  bool has_embedding() const override { return true; }
  Tensor emb_lookup(const Tensor& ids, FpropContext& context) override;

 private:
  bool count_all_;
};

}  // namespace trivet::nn
