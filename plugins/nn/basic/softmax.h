// SPDX-License-Identifier: Apache-2.0
// The softmax layers at the end of a language model (trivet/layer/softmax_head.h): logits = h w +
// b, capped.
//
// FullSoftmax has weights of its own, "w" [input_dims, num_classes], xavier_uniform unless set.
// SharedEmbeddingSoftmax shares them with the embedding (Press and Wolf 2017): "table"
// [num_classes, input_dims], normal with standard deviation 1 / sqrt(input_dims) unless set, is
// what emb_lookup looks up, times sqrt(input_dims) with scale_sqrt_depth, and logits = h table^T +
// b. Both may have "b" [num_classes], zeros unless set.
//
// Loss of a row, as in Praxis:
//   -sum_c q_c log p_c + z_loss_weight * lse^2,  p = softmax(logits), lse = log sum_c exp(logits_c),
//   q = 1 - label_smoothing_prob for the label and label_smoothing_prob / (num_classes - 1) for each
//   other class.
// z-loss is for training only; label smoothing too, unless label_smoothing_apply_for_eval (which is
// Praxis' default; then the perplexities of evaluations are those of smoothed labels).
//
// With a `weight_split_dims_mapping` whose wt names mdl for num_classes, on a mesh with several
// devices along it, logits and loss are computed in blocks of num_classes / devices classes, by the
// kernels and in the shapes of one device (trivet/ops/ops_mesh.h). `logits` joins the blocks.
//
// As layers: f32 [.., input_dims] -> logits [.., num_classes]; SharedEmbeddingSoftmax also looks up
// ids, i32 [..] -> [.., input_dims]. Field names are those of Praxis' FullSoftmax.
#pragma once

#include <string>

#include "trivet/layer.h"
#include "trivet/layer/softmax_head.h"
#include "trivet/layer/split_dims.h"
#include "trivet/ops.h"
#include "trivet/tensor/mesh_axis.h"

namespace trivet::nn {

struct SoftmaxSplitConfig {
  SplitDims wt;

  void validate(Diagnostics& diagnostics) const { wt.check_rank(2, "wt", diagnostics); }
};
TRIVET_CONFIG(
    SoftmaxSplitConfig, trivet::NoBase,
    (wt,
     "Axes of input_dims and num_classes, such as [\"data\", \"mdl\"]; mdl splits classes "
     "only. As in Praxis, also for a table that is shared with the embedding."))

struct SoftmaxConfig : LayerConfig {
  std::int64_t input_dims = 0;
  std::int64_t num_classes = 0;
  double soft_cap_logits = 0;
  bool scale_before_logits = false;
  double label_smoothing_prob = 0;
  bool label_smoothing_apply_for_eval = false;
  double z_loss_weight = 0;
  InitConfig init;
  InitConfig bias_init;
  SoftmaxSplitConfig weight_split_dims_mapping;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(
    SoftmaxConfig, trivet::LayerConfig,
    (input_dims, "Depth of the input; 0 in a template: as the model around it.", at_least(0)),
    (num_classes,
     "Depth of the logits, the size of a vocabulary; 0 in a template: as the model around it.",
     at_least(0)),
    (soft_cap_logits, "Bounds logits to c tanh(x / c); 0: no bound.", at_least(0)),
    (scale_before_logits, "Divides the input by sqrt(input_dims)."),
    (label_smoothing_prob, "Share of the other classes in the wanted distribution.", at_least(0),
     less_than(1), adjustable),
    (label_smoothing_apply_for_eval, "Smooths labels in evaluations, too.", adjustable),
    (z_loss_weight, "Factor of the squared log of the sum of exponentials in training.",
     at_least(0), adjustable),
    (init, "Initializer of the weights. Default: see softmax.h."),
    (bias_init, "Initializer of the bias. Default: 0."),
    (weight_split_dims_mapping,
     "Axes of the mesh over which the weights are split. Only mdl has an effect.", adjustable))

struct FullSoftmaxConfig : SoftmaxConfig {
  bool has_bias = true;
};
TRIVET_CONFIG(FullSoftmaxConfig, trivet::nn::SoftmaxConfig, (has_bias, "Adds a bias vector."))

struct SharedEmbeddingSoftmaxConfig : SoftmaxConfig {
  bool has_bias = false;
  bool scale_sqrt_depth = false;
};
TRIVET_CONFIG(SharedEmbeddingSoftmaxConfig, trivet::nn::SoftmaxConfig,
              (has_bias, "Adds a bias vector to the logits; Praxis has it on."),
              (scale_sqrt_depth, "Multiplies the embeddings by sqrt(input_dims)."))

class SoftmaxLayer : public Layer, public SoftmaxHead {
 public:
  Tensor fprop(const Tensor& x, FpropContext& context) final;
  const void* extension(std::string_view id) const noexcept final;

  std::int64_t input_dims() const final { return input_dims_; }
  std::int64_t num_classes() const final { return num_classes_; }
  Tensor logits(const Tensor& h, FpropContext& context) final;
  SoftmaxLoss loss(const Tensor& h, const Tensor& labels, const Tensor& weights,
                   FpropContext& context, const SoftmaxLossOptions& options) override;

 protected:
  // What a row of the weights belongs to: [input_dims, num_classes] or the other way round.
  enum class Weights { by_input, by_class };
  // Clips capped logits to [-logits_abs_max, logits_abs_max] unless that is 0. With it, `loss` has
  // the logits of all rows at once.
  SoftmaxLayer(std::string_view type, const SoftmaxConfig& config, bool has_bias, Scope& scope,
               Parameter& weights, Weights layout, double logits_abs_max = 0);
  // ParameterOptions::blocks of weights whose mapping is `wt`, for the shape in its order. Throws
  // ConfigError for a split that cannot be.
  static std::int64_t blocks_of(const SplitDims& wt, const Shape& shape, std::size_t classes_dim,
                                const Scope& scope);
  // SoftmaxLoss::avg_xent.
  static Tensor average(const Tensor& total_xent, const Tensor& total_weight);
  std::string_view type() const { return type_; }
  const std::string& path() const { return path_; }
  const Tensor& weights() const { return weights_.value(); }

 private:
  Tensor scaled(const Tensor& h) const;
  int class_dim() const { return transposed_ ? 0 : 1; }
  Tensor argmax(const Tensor& h) const;  // i32 [..]
  Tensor products(const Tensor& h) const;
  Tensor capped_logits(const Tensor& h) const;
  ops::LinearCrossEntropy cross_entropy(const Tensor& h, const Tensor& labels,
                                        const Tensor& row_weights,
                                        const ops::CrossEntropyOptions& extras) const;

  std::string_view type_;
  std::string path_;
  std::int64_t input_dims_, num_classes_;
  float softcap_, clip_, scale_, smoothing_, z_loss_;
  bool smooth_evaluation_, transposed_;
  Parameter& weights_;
  Parameter* bias_;
  MeshAxis axis_;  // over which the classes are split
};

class FullSoftmax final : public SoftmaxLayer {
 public:
  using Config = FullSoftmaxConfig;
  FullSoftmax(const Config& config, Scope& scope);
  bool has_embedding() const override { return false; }
  Tensor emb_lookup(const Tensor& ids, FpropContext& context) override;
};

class SharedEmbeddingSoftmax final : public SoftmaxLayer {
 public:
  using Config = SharedEmbeddingSoftmaxConfig;
  SharedEmbeddingSoftmax(const Config& config, Scope& scope);
  bool has_embedding() const override { return true; }
  Tensor emb_lookup(const Tensor& ids, FpropContext& context) override;

 private:
  float lookup_scale_;
};

}  // namespace trivet::nn
