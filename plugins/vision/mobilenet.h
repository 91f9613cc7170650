// SPDX-License-Identifier: Apache-2.0
// MobileNet: MobileNetV2, networks of inverted residual blocks (Sandler et al. 2018,
// "MobileNetV2: Inverted Residuals and Linear Bottlenecks").
//
//   stem: a 3 x 3 convolution with 32 filters;
//   block i, of `expansions`, `strides` and `channels` (inverted_residual.h);
//   head: a 1 x 1 convolution with output_channels filters;
//   the mean over all pixels, then a linear classifier.
//
// Each convolution has no bias and is followed by a BatchNorm, and in stem and head by a relu6. The
// defaults are table 2 of the paper. All numbers of filters are multiplied by `multiplier` and
// rounded to the nearest multiple of divisible_by that is at least min_depth (stem, head) or
// divisible_by (blocks) and at least 0.9 of the number. The head's are multiplied only by more
// than 1, as in the paper. (Praxis' classifier expects output_channels then, which fails.)
//
// Filters start normal with variance 2 / (kernel^2 filters) unless `init` is set, as in Praxis.
// Parameters "stem/w", "stem_norm/gamma", "block_0/depthwise/w", ..., "head/w", "output/w".
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "trivet/model.h"
#include "vision/blocks/inverted_residual.h"

namespace trivet::vision {

struct MobileNetConfig : ModelConfig {
  std::vector<std::int64_t> image_shape = {28, 28, 1};
  std::int64_t num_classes = 10;
  std::vector<std::int64_t> expansions = {1, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6};
  std::vector<std::int64_t> strides = {1, 2, 1, 2, 1, 1, 2, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1};
  std::vector<std::int64_t> channels = {16, 24, 24, 32, 32,  32,  64,  64, 64,
                                        64, 96, 96, 96, 160, 160, 160, 320};
  std::int64_t output_channels = 1280;
  std::int64_t stem_kernel = 3;
  std::int64_t stem_stride = 2;
  double multiplier = 1;
  std::int64_t divisible_by = 8;
  std::int64_t min_depth = 8;
  double norm_momentum = 0.9;
  double norm_epsilon = 1e-3;
  double dropout = 0;
  InitConfig init;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(
    MobileNetConfig, trivet::ModelConfig,
    (image_shape, "Height, width and channels of the images.", at_least(1)),
    (num_classes, "Depth of the logits.", at_least(2)),
    (expansions, "For each block: how many times as many filters its middle has.",
     between(1, 1000)),
    (strides, "For each block: the steps of its filters.", between(1, 1000)),
    (channels, "For each block: the filters of its output.", between(1, 1048576)),
    (output_channels, "Filters of the head.", between(1, 1048576)),
    (stem_kernel, "Height and width of the first filters.", at_least(1)),
    (stem_stride, "Steps of the first filters; 1 for small images.", at_least(1)),
    (multiplier, "Factor of all numbers of filters.", more_than(0), at_most(100)),
    (divisible_by, "All numbers of filters are multiples of this.", between(1, 1048576)),
    (min_depth, "Least number of filters of stem and head.", between(1, 1048576)),
    (norm_momentum, "Share of the old moving averages that the norms keep.", between(0, 1),
     adjustable),
    (norm_epsilon, "Epsilon of the norms.", more_than(0)),
    (dropout, "Share of the classifier's inputs dropped in training.", at_least(0), less_than(1),
     adjustable),
    (init,
     "Initializer of the weights. Default: normal with variance 2 / (kernel^2 filters); that of "
     "nn/Linear for the classifier."))

class MobileNet final : public Model {
 public:
  using Config = MobileNetConfig;
  MobileNet(const Config& config, Scope& scope);
  NestedMap fprop(const Batch& batch, FpropContext& context) override;

 private:
  std::vector<std::int64_t> image_shape_;
  std::shared_ptr<Layer> stem_, stem_norm_;
  std::vector<InvertedResidual> blocks_;
  std::shared_ptr<Layer> head_, head_norm_, pool_, dropout_, output_;
};

}  // namespace trivet::vision
