// SPDX-License-Identifier: Apache-2.0
// Conv2d: y = activation(conv(x, w) + b) over images x [B, H, W, input_dims].
//
// With `groups` the channels are cut into groups of their own filters; groups = input_dims is the
// depthwise convolution of MobileNet (Howard et al. 2017).
//
// Parameters "w" [KH, KW, input_dims / groups, output_dims] (TensorFlow's order, as in Praxis),
// Glorot uniform unless set, and "b" [output_dims]. has_bias is true as in Keras (Praxis: false);
// turn it off before a BatchNorm. Padding "same" is TensorFlow's: an odd zero is added below and on
// the right. A `parametrization` makes the filters from w, and an `input_quantization` the input
// from x, as in nn/Linear.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nn/conv/window.h"
#include "trivet/layer.h"

namespace trivet::nn {

struct Conv2dConfig : LayerConfig {
  std::int64_t input_dims = 0;
  std::int64_t output_dims = 0;
  std::vector<std::int64_t> kernel = {3};
  std::vector<std::int64_t> stride = {1};
  std::vector<std::int64_t> dilation = {1};
  Border padding = Border::same;
  std::vector<std::int64_t> pad = {0};
  std::int64_t groups = 1;
  bool has_bias = true;
  ConfigOf<Layer> activation;
  InitConfig init;
  InitConfig bias_init;
  ConfigOf<Layer> parametrization;
  ConfigOf<Layer> input_quantization;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(Conv2dConfig, trivet::LayerConfig,
              (input_dims, "Channels of the input.", required, at_least(1)),
              (output_dims, "Channels of the output.", required, at_least(1)),
              (kernel, "Height and width of the filters; one number for both.", at_least(1)),
              (stride, "Steps of the filter, down and right.", at_least(1)),
              (dilation, "Distance between neighboring taps of the filter.", at_least(1)),
              (padding, "Padding at the border."),
              (pad, "Zeros above and below, and left and right, for padding = \"explicit\".",
               at_least(0)),
              (groups,
               "Groups of channels, each with filters of its own; divides input_dims and "
               "output_dims.",
               at_least(1)),
              (has_bias, "Adds a bias vector."), (activation, "Activation of the output."),
              (init, "Initializer of the filters. Default: xavier_uniform."),
              (bias_init, "Initializer of the bias. Default: 0."),
              (parametrization, "Layer that makes the weights from w, e.g. nn/SpectralNorm."),
              (input_quantization,
               "Layer that makes the input from x, e.g. nn/ActivationQuantization with "
               "per_channel = false."))

class Conv2d final : public Layer {
 public:
  using Config = Conv2dConfig;
  Conv2d(const Config& config, Scope& scope);
  Tensor fprop(const Tensor& x, FpropContext& context) override;

 private:
  std::string path_;
  std::int64_t input_dims_;
  WindowOptions window_;
  Parameter& weight_;
  Parameter* bias_;
  std::shared_ptr<Layer> parametrization_;     // null: the weights are the parameter
  std::shared_ptr<Layer> input_quantization_;  // null: the input is x
  std::shared_ptr<Layer> activation_;
  std::optional<Activation> fused_;  // empty: activation_ is not fused
};

}  // namespace trivet::nn
