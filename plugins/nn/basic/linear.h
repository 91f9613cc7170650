// SPDX-License-Identifier: Apache-2.0
// Linear: y = activation(x w + b), x [.., input_dims] -> y [.., output_dims].
//
// Praxis calls it FeedForward (a Linear, a Bias, an activation), Keras Dense. Parameters "w"
// [input_dims, output_dims], Glorot uniform unless set, as in both; and "b" [output_dims], zeros
// unless set. A `parametrization` (nn/WeightNormL2, nn/SpectralNorm, nn/FakeQuantization) makes the
// weights of the product from w; its variables are below "parametrization". An `input_quantization`
// (nn/ActivationQuantization) makes its input from x. Both must keep the shape. If both quantize,
// the product is one of integers (quantized_product.h). With `lora`, it has two low-rank matrices
// in addition to w: lora.h.
//
// With a `weight_split_dims_mapping` whose wt names mdl, on a mesh with several devices along it,
// the product is computed in blocks (tensor parallel), the same kernels in the shapes of one
// device:
//
//   wt = ["data", "mdl"]   columns: a product for each block of y
//   wt = ["mdl", "data"]   rows: a product for each block of x, then their sum, and the bias
//
// x and y are whole; the layer around it may pass on blocks (nn/split/split_product.h).
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nn/basic/lora.h"
#include "nn/split/axis_split.h"
#include "nn/split/split_product.h"
#include "trivet/layer.h"
#include "trivet/ops.h"

namespace trivet::nn {

struct Operands;  // nn/basic/quantized_product.h

struct LinearSplitConfig {
  SplitDims wt;

  void validate(Diagnostics& diagnostics) const { wt.check_rank(2, "wt", diagnostics); }
};
TRIVET_CONFIG(LinearSplitConfig, trivet::NoBase,
              (wt,
               "Axes of input_dims and output_dims, such as [\"data\", \"mdl\"]. mdl computes in "
               "blocks."))

struct LinearConfig : LayerConfig {
  std::int64_t input_dims = 0;
  std::int64_t output_dims = 0;
  bool has_bias = true;
  ConfigOf<Layer> activation;
  InitConfig init;
  InitConfig bias_init;
  ConfigOf<Layer> parametrization;
  ConfigOf<Layer> input_quantization;
  LoraConfig lora;
  LinearSplitConfig weight_split_dims_mapping;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(LinearConfig, trivet::LayerConfig,
              (input_dims, "Depth of the input.", required, at_least(1)),
              (output_dims, "Depth of the output.", required, at_least(1)),
              (has_bias, "Adds a bias vector."), (activation, "Activation of the output."),
              (init, "Initializer of the weights. Default: xavier_uniform."),
              (bias_init, "Initializer of the bias. Default: 0."),
              (parametrization, "Layer that makes the weights from w, e.g. nn/SpectralNorm."),
              (input_quantization,
               "Layer that makes the input of the product from x, e.g. "
               "nn/ActivationQuantization."),
              (lora, "LoRA: low-rank matrices added to the weights, for fine-tuning."),
              (weight_split_dims_mapping,
               "Axes of the mesh over which the weights are split. Only mdl has an effect.",
               adjustable))

class Linear final : public Layer, public SplitProduct {
 public:
  using Config = LinearConfig;
  Linear(const Config& config, Scope& scope);
  Tensor fprop(const Tensor& x, FpropContext& context) override;
  const void* extension(std::string_view id) const noexcept override;
  std::vector<Tensor> columns(const Tensor& x, std::span<const Tensor> x_blocks,
                              FpropContext& context) override;
  Tensor rows(std::span<const Tensor> x_blocks, FpropContext& context) override;

 private:
  Tensor product(const Tensor& x, Activation act, FpropContext& context) const;
  Tensor beside(const Tensor& x, FpropContext& context) const;
  Tensor split_fprop(const Tensor& x, FpropContext& context);
  // The output of y, the product of the operands that x has made: scales, bias, LoRA, activation.
  Tensor finished(Tensor y, const Operands& operands, const Tensor& x, FpropContext& context) const;

  std::string path_;
  AxisSplit split_;
  Parameter& weight_;
  Parameter* bias_;
  std::shared_ptr<Layer> parametrization_;           // null: the weights are the parameter
  std::shared_ptr<Layer> input_quantization_;        // null: the input is x
  Parameter *lora_a_ = nullptr, *lora_b_ = nullptr;  // null without LoRA
  float lora_factor_;
  std::shared_ptr<Layer> lora_dropout_;
  std::shared_ptr<Layer> activation_;
  std::optional<Activation> fused_;  // empty: activation_ is not fused
};

}  // namespace trivet::nn
