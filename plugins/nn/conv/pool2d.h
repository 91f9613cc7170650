// SPDX-License-Identifier: Apache-2.0
// MaxPool2d and AvgPool2d: the largest or mean value of windows over images [B, H, W, C]. Padding
// never counts: the mean divides by the number of pixels inside the image, as in Praxis and
// TensorFlow. GlobalAvgPool2d: the mean over all pixels, [B, H, W, C] -> [B, C].
#pragma once

#include <array>
#include <string>
#include <vector>

#include "nn/conv/window.h"
#include "trivet/layer.h"

namespace trivet::nn {

struct Pool2dConfig : LayerConfig {
  std::vector<std::int64_t> window = {2};
  std::vector<std::int64_t> stride;
  Border padding = Border::valid;
  std::vector<std::int64_t> pad = {0};

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(
    Pool2dConfig, trivet::LayerConfig,
    (window, "Height and width of the window; one number for both.", at_least(1)),
    (stride, "Steps of the window; empty: the window, so that none overlap.", at_least(1)),
    (padding, "Padding at the border."),
    (pad, "Padding in pixels: [top and bottom, left and right]. Used with padding = \"explicit\".",
     at_least(0)))

struct MaxPool2dConfig : Pool2dConfig {};
TRIVET_CONFIG(MaxPool2dConfig, trivet::nn::Pool2dConfig)

struct AvgPool2dConfig : Pool2dConfig {};
TRIVET_CONFIG(AvgPool2dConfig, trivet::nn::Pool2dConfig)

class MaxPool2d final : public Layer {
 public:
  using Config = MaxPool2dConfig;
  MaxPool2d(const Config& config, Scope& scope);
  Tensor fprop(const Tensor& x, FpropContext& context) override;

 private:
  std::string path_;
  std::array<std::int64_t, 2> window_;
  WindowOptions options_;
};

class AvgPool2d final : public Layer {
 public:
  using Config = AvgPool2dConfig;
  AvgPool2d(const Config& config, Scope& scope);
  Tensor fprop(const Tensor& x, FpropContext& context) override;

 private:
  std::string path_;
  std::array<std::int64_t, 2> window_;
  WindowOptions options_;
};

struct GlobalAvgPool2dConfig : LayerConfig {};
TRIVET_CONFIG(GlobalAvgPool2dConfig, trivet::LayerConfig)

class GlobalAvgPool2d final : public Layer {
 public:
  using Config = GlobalAvgPool2dConfig;
  GlobalAvgPool2d(const Config& config, Scope& scope);
  Tensor fprop(const Tensor& x, FpropContext& context) override;

 private:
  std::string path_;
};

}  // namespace trivet::nn
