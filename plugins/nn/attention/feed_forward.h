// SPDX-License-Identifier: Apache-2.0
// FeedForward: the position-wise part of a transformer (Vaswani et al. 2017), x [.., input_dims] ->
// the same shape.
//
//   y = out(dropout(activation(in(x))))
//   y = out(dropout(activation(gate(x)) * in(x)))      with use_gated_activation (Shazeer 2020)
//
// With gating, nn/Silu makes it SwiGLU and nn/Gelu GEGLU. Children are the nn/Linear "in", "gate"
// and "out", in Praxis ffn_layer1, ffn_layer1_gate and ffn_layer2. Field names are those of Praxis'
// TransformerFeedForward. Its norm and residual belong to the block here.
//
// With a weight_split_dims_mapping of ffn0 = ["data", "mdl"] and ffn1 = ["mdl", "data"], everything
// between x and y is computed in blocks of hidden_dims / devices along mdl, with one sum
// (nn/basic/linear.h). Dropout draws for each block.
#pragma once

#include <memory>
#include <string>

#include "nn/basic/lora.h"
#include "nn/split/axis_split.h"
#include "trivet/layer/extend_step.h"

namespace trivet::nn {

struct FeedForwardSplitConfig {
  SplitDims ffn0, ffn1;

  void validate(Diagnostics& diagnostics) const {
    ffn0.check_rank(2, "ffn0", diagnostics);
    ffn1.check_rank(2, "ffn1", diagnostics);
  }
};
TRIVET_CONFIG(FeedForwardSplitConfig, trivet::NoBase,
              (ffn0,
               "Axes of input_dims and hidden_dims of the products in and gate, such as "
               "[\"data\", \"mdl\"]."),
              (ffn1,
               "Axes of hidden_dims and input_dims of the product out, such as [\"mdl\", "
               "\"data\"]."))

struct FeedForwardConfig : LayerConfig {
  std::int64_t input_dims = 0;
  std::int64_t hidden_dims = 0;
  ConfigOf<Layer> activation = "nn/Gelu";
  bool use_gated_activation = false;
  bool has_bias = true;
  double relu_dropout = 0;
  InitConfig init;
  InitConfig output_init;
  ConfigOf<Layer> parametrization;
  ConfigOf<Layer> input_quantization;
  LoraConfig lora;
  FeedForwardSplitConfig weight_split_dims_mapping;
};
TRIVET_CONFIG(FeedForwardConfig, trivet::LayerConfig,
              (input_dims,
               "Depth of the input and of the output; 0 in a template: as the layer around it.",
               at_least(0)),
              (hidden_dims, "Depth between the two layers; 0: 4 * input_dims.", at_least(0)),
              (activation, "Activation between the two layers."),
              (use_gated_activation, "Activates a second product, which multiplies the first."),
              (has_bias, "Adds bias vectors to the products."),
              (relu_dropout, "Dropout rate between the two layers in training.", at_least(0),
               less_than(1), adjustable),
              (init, "Initializer of the weights. Default: that of nn/Linear."),
              (output_init, "Initializer of the output projection. Default: init."),
              (parametrization, "Layer that makes the weights of each product from its w."),
              (input_quantization,
               "Layer that makes the input of each product, e.g. "
               "nn/ActivationQuantization."),
              (lora, "LoRA: low-rank matrices added to the weights, for fine-tuning."),
              (weight_split_dims_mapping,
               "Axes of the mesh over which the weights are split. Only mdl has an effect.",
               adjustable))

// Local in time if its products are.
class FeedForward final : public Layer {
 public:
  using Config = FeedForwardConfig;
  // `prefix` precedes the names of the children, for a layer that owns them directly.
  FeedForward(const Config& config, Scope& scope, const std::string& prefix = "");
  Tensor fprop(const Tensor& x, FpropContext& context) override;
  const void* extension(std::string_view id) const noexcept override;

 private:
  Tensor split_fprop(const Tensor& x, FpropContext& context) const;

  std::string path_;
  std::int64_t input_dims_;
  MeshAxis hidden_axis_;  // that hidden_dims is split over from the first product to the last
  std::shared_ptr<Layer> in_, gate_, dropout_, out_;
};

}  // namespace trivet::nn
