// SPDX-License-Identifier: Apache-2.0
// VanillaNet: deep networks of convolutions without shortcuts and norms (Zhang et al. 2022, "Deep
// Learning without Shortcuts: Shaping the Kernel with Tailored Rectifiers"), as in Praxis.
//
//   stem: a convolution with channels[0] / 4 filters and, with stem_pool, a 3 x 3 max-pooling of
//     stride 2;
//   stages of blocks: in stage i a block is convolutions of 1 x 1, kernels[i] and 1 x 1, with
//     c / 4, c / 4 and c = channels[i] filters; strides[i] is that of the middle one of the first
//     block;
//   the mean over all pixels, then a linear classifier.
//
// Every convolution has a bias and is followed by the tailored rectifier, which keeps the mean
// square of normal inputs,
//
//   f(x) = sqrt(2 / (1 + s^2)) max(x, s x),  s = negative_slope.
//
// Filters start delta-orthogonal unless `init` is set, times sqrt(max(1, output / input channels)),
// which keeps the mean square of a pixel where filters widen it (the paper's scale correction).
// Praxis' factor has the two numbers of channels the other way around; the function at the start
// is the same up to a constant. Praxis has no classifier.
// Parameters "stem/w", "stage_0/block_0/conv_0/w", ..., "output/b".
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "trivet/model.h"

namespace trivet::vision {

struct VanillaNetConfig : ModelConfig {
  std::vector<std::int64_t> image_shape = {28, 28, 1};
  std::int64_t num_classes = 10;
  std::vector<std::int64_t> blocks = {3, 4, 6, 3};
  std::vector<std::int64_t> channels = {256, 512, 1024, 2048};
  std::vector<std::int64_t> strides = {1, 2, 2, 2};
  std::vector<std::int64_t> kernels = {3, 3, 3, 3};
  std::int64_t stem_kernel = 7;
  std::int64_t stem_stride = 2;
  bool stem_pool = true;
  double negative_slope = 0.4;
  InitConfig init;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(VanillaNetConfig, trivet::ModelConfig,
              (image_shape, "Height, width and channels of the images.", at_least(1)),
              (num_classes, "Depth of the logits.", at_least(2)),
              (blocks, "Number of blocks in each stage.", between(1, 10000)),
              (channels, "Filters of each stage; multiples of 4.", between(4, 1048576)),
              (strides, "Steps of the first block of each stage.", between(1, 1000)),
              (kernels, "Height and width of the filters of each stage.", between(1, 999)),
              (stem_kernel, "Height and width of the first filters.", at_least(1)),
              (stem_stride, "Steps of the first filters; 1 for small images.", at_least(1)),
              (stem_pool, "Halves height and width once more, by max-pooling: for large images."),
              (negative_slope, "Slope of the rectifier below 0.", between(0, 1)),
              (init,
               "Initializer of the weights. Default: delta_orthogonal, times sqrt(max(1, "
               "output_dims / input_dims)); that of nn/Linear for the classifier."))

class VanillaNet final : public Model {
 public:
  using Config = VanillaNetConfig;
  VanillaNet(const Config& config, Scope& scope);
  NestedMap fprop(const Batch& batch, FpropContext& context) override;

 private:
  Tensor rectified(const Tensor& x, FpropContext& context) const;

  std::vector<std::int64_t> image_shape_;
  float gain_;
  std::shared_ptr<Layer> rectifier_, stem_, stem_pool_;  // the pool is null if there is none
  std::vector<std::shared_ptr<Layer>> convolutions_;
  std::shared_ptr<Layer> pool_, output_;
};

}  // namespace trivet::vision
