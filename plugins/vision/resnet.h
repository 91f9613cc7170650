// SPDX-License-Identifier: Apache-2.0
// ResNet: residual networks of He et al. 2016 ("Deep Residual Learning for Image Recognition").
//
//   stem: convolution, BatchNorm, relu and, with stem_pool, a 3 x 3 max-pooling of stride 2;
//   stages of blocks (residual_block.h): stage i has width * 2^i filters, and its first block
//   halves height and width, but for stage 0;
//   the mean over all pixels, then a linear classifier.
//
//   depth   block       blocks            width  stem
//   18      basic       [2, 2, 2, 2]      64     kernel 7, stride 2, pooled
//   34      basic       [3, 4, 6, 3]      64     the same
//   50      bottleneck  [3, 4, 6, 3]      64     the same
//   101     bottleneck  [3, 4, 23, 3]     64     the same
//   152     bottleneck  [3, 8, 36, 3]     64     the same
//
// `depth` chooses block and blocks of this table. The stem's defaults are those for small images
// (kernel 3, stride 1, no pooling), as the paper's networks for CIFAR-10: ResNet-20 there is block
// = "basic", blocks = [3, 3, 3], width = 16, except for its shortcuts without weights.
//
// Filters start as he_normal (He et al. 2015) unless `init` is set. Parameters "stem/w",
// "stem_norm/gamma", "stage_0/block_0/conv_0/w", ..., "output/w", "output/b".
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "residual_block.h"
#include "trivet/model.h"

namespace trivet::vision {

enum class ResNetBlock { basic, bottleneck };
TRIVET_ENUM(ResNetBlock, basic, bottleneck)

struct ResNetConfig : ModelConfig {
  std::vector<std::int64_t> image_shape = {28, 28, 1};
  std::int64_t num_classes = 10;
  std::int64_t depth = 0;
  ResNetBlock block = ResNetBlock::basic;
  std::vector<std::int64_t> blocks;
  std::int64_t width = 64;
  std::int64_t stem_kernel = 3;
  std::int64_t stem_stride = 1;
  bool stem_pool = false;
  bool zero_init_residual = false;
  double norm_momentum = 0.9;
  double norm_epsilon = 1e-5;
  double dropout = 0;
  InitConfig init;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(
    ResNetConfig, trivet::ModelConfig,
    (image_shape, "Height, width and channels of the images.", at_least(1)),
    (num_classes, "Depth of the logits.", at_least(2)),
    (depth, "18, 34, 50, 101 or 152: block and blocks of that network; 0: as they say.",
     at_least(0)),
    (block,
     "Two 3 x 3 convolutions, or 1 x 1, 3 x 3 and 1 x 1, which are four times as "
     "wide."),
    (blocks, "Number of blocks in each stage.", at_least(1)),
    (width, "Filters of the first stage; every further stage has twice as many.", at_least(1)),
    (stem_kernel, "Height and width of the first filters; 7 for large images.", at_least(1)),
    (stem_stride, "Steps of the first filters; 2 for large images.", at_least(1)),
    (stem_pool, "Halves height and width once more, by max-pooling: for large images."),
    (zero_init_residual,
     "Every block starts as its shortcut: its last norm's gamma starts at 0 (Goyal et "
     "al. 2017)."),
    (norm_momentum, "Share of the old moving averages that the norms keep.", between(0, 1),
     adjustable),
    (norm_epsilon, "Epsilon of the norms.", more_than(0)),
    (dropout, "Share of the classifier's inputs dropped in training.", at_least(0), less_than(1),
     adjustable),
    (init, "Initializer of the weights. Default: he_normal; that of nn/Linear for the classifier."))

class ResNet final : public Model {
 public:
  using Config = ResNetConfig;
  ResNet(const Config& config, Scope& scope);
  NestedMap fprop(const Batch& batch, FpropContext& context) override;

 private:
  std::vector<std::int64_t> image_shape_;
  std::shared_ptr<Layer> stem_, stem_norm_, stem_pool_;  // the pool is null if there is none
  std::vector<ResidualBlock> blocks_;
  std::shared_ptr<Layer> pool_, dropout_, output_;
};

}  // namespace trivet::vision
