// SPDX-License-Identifier: Apache-2.0
// ResNet: residual networks of He et al. 2016 ("Deep Residual Learning for Image Recognition").
//
//   stem: convolution, BatchNorm, activation and, with stem_pool, a 3 x 3 max-pooling of stride 2;
//   stages of blocks (residual_block.h): stage i has width * 2^i filters, and its first block
//   halves height and width, but for stage 0;
//   the mean over all pixels, then a linear classifier.
//
//   depth   block       blocks            width  stem
//   10      basic       [1, 1, 1, 1]      64     kernel 7, stride 2, pooled
//   18      basic       [2, 2, 2, 2]      64     the same
//   34      basic       [3, 4, 6, 3]      64     the same
//   50      bottleneck  [3, 4, 6, 3]      64     the same
//   101     bottleneck  [3, 4, 23, 3]     64     the same
//   152     bottleneck  [3, 8, 36, 3]     64     the same
//   200     bottleneck  [3, 24, 36, 3]    64     the same
//   270     bottleneck  [4, 29, 53, 4]    64     that of ResNet-RS, as the next
//   350     bottleneck  [4, 36, 72, 4]    64
//   420     bottleneck  [4, 44, 87, 4]    64
//
// `depth` chooses block and blocks of this table. The stem's defaults are those for small images
// (kernel 3, stride 1, no pooling), as the paper's networks for CIFAR-10: ResNet-20 there is block
// = "basic", blocks = [3, 3, 3], width = 16, except for its shortcuts without weights.
//
// ResNet-RS (Bello et al. 2021, "Revisiting ResNets") is stem_type = "v1" (three 3 x 3 convolutions
// with width / 2, width / 2 and width filters, as ResNet-D), stem_stride = 2, stem_pool with
// replace_stem_max_pool, resnetd_shortcut, se_ratio = 0.25, and activation = "nn/Silu". Stage i of
// n drops its blocks' residuals with the probability stochastic_depth_drop_rate * (i + 2) / (n +
// 1).
//
// Filters start as he_normal (He et al. 2015) unless `init` is set. Parameters "stem/w",
// "stem_norm/gamma", "stage_0/block_0/conv_0/w", ..., "output/w", "output/b"; those of "v1" are
// "stem_0/w", "stem_norm_0/gamma", ..., and the convolution for the pooling is "stem_pool/w".
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "trivet/model.h"
#include "vision/blocks/residual_block.h"

namespace trivet::vision {

enum class ResNetBlock { basic, bottleneck };
TRIVET_ENUM(ResNetBlock, basic, bottleneck)

enum class StemType { v0, v1 };
TRIVET_ENUM(StemType, v0, v1)

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
  StemType stem_type = StemType::v0;
  bool replace_stem_max_pool = false;
  bool scale_stem = true;
  bool resnetd_shortcut = false;
  double se_ratio = 0;
  double stochastic_depth_drop_rate = 0;
  ConfigOf<Layer> activation = "nn/Relu";
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
    (depth,
     "10, 18, 34, 50, 101, 152, 200, 270, 350 or 420: block and blocks of that network; 0: as they "
     "say.",
     at_least(0)),
    (block,
     "Two 3 x 3 convolutions, or 1 x 1, 3 x 3 and 1 x 1, which are four times as "
     "wide."),
    (blocks, "Number of blocks in each stage.", at_least(1)),
    (width, "Filters of the first stage; every further stage has twice as many.", at_least(1)),
    (stem_kernel, "Height and width of the first filters; 7 for large images.", at_least(1)),
    (stem_stride, "Steps of the first filters; 2 for large images.", at_least(1)),
    (stem_pool, "Halves height and width once more, by max-pooling: for large images."),
    (stem_type, "One convolution of stem_kernel, or three of 3 x 3, as in ResNet-D."),
    (replace_stem_max_pool,
     "Halves the image by a 3 x 3 convolution of stride 2, instead of stem_pool's pooling."),
    (scale_stem, "The stem's filters follow width; false: they are those of width = 64."),
    (resnetd_shortcut,
     "Shortcuts that halve height and width take means of 2 x 2 pixels, as in ResNet-D."),
    (se_ratio, "Share of the channels inside squeeze and excitation; 0: none.", between(0, 1)),
    (stochastic_depth_drop_rate,
     "Share of the examples that skip a block of the last stage in training; less in earlier ones.",
     at_least(0), less_than(1), adjustable),
    (activation, "Activation of the stem and of the blocks."),
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
  std::vector<std::shared_ptr<Layer>> stem_;
  std::vector<ResidualBlock> blocks_;
  std::shared_ptr<Layer> pool_, dropout_, output_;
};

}  // namespace trivet::vision
