// SPDX-License-Identifier: Apache-2.0
// Conv3d: y = activation(conv(x, w) + b) over volumes or videos x [B, D, H, W, input_dims], as
// Conv2d (conv2d.h) on three axes.
//
// Parameters "w" [KD, KH, KW, input_dims / groups, output_dims] and "b" [output_dims].
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nn/conv/window.h"
#include "trivet/layer.h"
#include "trivet/ops/ops_volume.h"

namespace trivet::nn {

struct Conv3dConfig : LayerConfig {
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

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(Conv3dConfig, trivet::LayerConfig,
              (input_dims, "Channels of the input.", required, at_least(1)),
              (output_dims, "Channels of the output.", required, at_least(1)),
              (kernel, "Depth, height and width of the filters; one number for all.", at_least(1)),
              (stride, "Steps of the filter along the three axes.", at_least(1)),
              (dilation, "Distance between neighboring taps of the filter.", at_least(1)),
              (padding, "Padding at the border."),
              (pad, "Zeros on both sides of each axis, for padding = \"explicit\".", at_least(0)),
              (groups,
               "Groups of channels, each with filters of its own; divides input_dims and "
               "output_dims.",
               at_least(1)),
              (has_bias, "Adds a bias vector."), (activation, "Activation of the output."),
              (init, "Initializer of the filters. Default: xavier_uniform."),
              (bias_init, "Initializer of the bias. Default: 0."))

class Conv3d final : public Layer {
 public:
  using Config = Conv3dConfig;
  Conv3d(const Config& config, Scope& scope);
  Tensor fprop(const Tensor& x, FpropContext& context) override;

 private:
  std::string path_;
  std::int64_t input_dims_;
  VolumeOptions window_;
  Parameter& weight_;
  Parameter* bias_;
  std::shared_ptr<Layer> activation_;
  std::optional<Activation> fused_;  // empty: activation_ is not fused
};

}  // namespace trivet::nn
