// SPDX-License-Identifier: Apache-2.0
// RevNet: reversible residual networks of Gomez et al. 2017 ("The Reversible Residual Network"), as
// Model Garden builds them.
//
//   stem: convolution with channels[0] filters, BatchNorm, activation and, with stem_pool, a 3 x 3
//   max-pooling of stride 2;
//   stages of blocks (reversible_block.h): the first block of each halves height and width, but for
//   stage 0, and begins with a norm, but for stage 0;
//   a BatchNorm (add_head_batch_norm), the mean over all pixels, then a linear classifier.
//
//   depth  block       blocks         channels               stem
//   38     basic       [3, 3, 3]      [32, 64, 112]          kernel 7, stride 2, pooled
//   56     bottleneck  [2, 2, 3, 2]   [128, 256, 512, 832]   the same
//   104    bottleneck  [2, 2, 11, 2]  [128, 256, 512, 832]   the same
//
// `depth` chooses block, blocks and channels of this table. The stem's defaults are those for small
// images. With checkpoint_policy = "save_nothing" only the input of each block is kept for the
// gradients, and the block is computed again from it (trivet/layer/remat.h). The paper computes
// that input, too, from the block's output; here it is kept, which gives the same bits.
//
// Filters start as he_normal unless `init` is set. Parameters "stem/w", "stem_norm/gamma",
// "stage_0/block_0/f/conv_1/w", ..., "head_norm/gamma", "output/w", "output/b".
#pragma once

#include <memory>
#include <vector>

#include "resnet.h"
#include "trivet/model.h"
#include "vision/blocks/reversible_block.h"

namespace trivet::vision {

enum class CheckpointPolicy { save_everything, save_nothing };
TRIVET_ENUM(CheckpointPolicy, save_everything, save_nothing)

struct RevNetConfig : ModelConfig {
  std::vector<std::int64_t> image_shape = {28, 28, 1};
  std::int64_t num_classes = 10;
  std::int64_t depth = 0;
  ResNetBlock block = ResNetBlock::basic;
  std::vector<std::int64_t> blocks;
  std::vector<std::int64_t> channels;
  std::int64_t stem_kernel = 3;
  std::int64_t stem_stride = 1;
  bool stem_pool = false;
  ConfigOf<Layer> activation = "nn/Relu";
  double norm_momentum = 0.9;
  double norm_epsilon = 1e-5;
  bool add_head_batch_norm = true;
  double dropout = 0;
  CheckpointPolicy checkpoint_policy = CheckpointPolicy::save_everything;
  InitConfig init;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(
    RevNetConfig, trivet::ModelConfig,
    (image_shape, "Height, width and channels of the images.", at_least(1)),
    (num_classes, "Depth of the logits.", at_least(2)),
    (depth, "38, 56 or 104: block, blocks and channels of that network; 0: as they say.",
     at_least(0)),
    (block,
     "Branches of two 3 x 3 convolutions, or of 1 x 1, 3 x 3 and 1 x 1, which are four times as "
     "wide."),
    (blocks, "Number of blocks in each stage.", at_least(1)),
    (channels, "Filters of each stage, of both halves together.", at_least(2)),
    (stem_kernel, "Height and width of the first filters; 7 for large images.", at_least(1)),
    (stem_stride, "Steps of the first filters; 2 for large images.", at_least(1)),
    (stem_pool, "Halves height and width once more, by max-pooling: for large images."),
    (activation, "Activation of the stem and of the blocks."),
    (norm_momentum, "Share of the old moving averages that the norms keep.", between(0, 1),
     adjustable),
    (norm_epsilon, "Epsilon of the norms.", more_than(0)),
    (add_head_batch_norm, "Adds a norm in front of the mean over all pixels."),
    (dropout, "Share of the classifier's inputs dropped in training.", at_least(0), less_than(1),
     adjustable),
    (checkpoint_policy, "Activations of each block that are kept for its gradients.", adjustable),
    (init, "Initializer of the weights. Default: he_normal; that of nn/Linear for the classifier."))

class RevNet final : public Model {
 public:
  using Config = RevNetConfig;
  RevNet(const Config& config, Scope& scope);
  NestedMap fprop(const Batch& batch, FpropContext& context) override;

 private:
  std::vector<std::int64_t> image_shape_;
  CheckpointPolicy policy_;
  std::vector<std::shared_ptr<Layer>> stem_;
  std::vector<std::unique_ptr<ReversibleBlock>> blocks_;
  std::vector<std::shared_ptr<Layer>> head_;
};

}  // namespace trivet::vision
