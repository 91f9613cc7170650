// SPDX-License-Identifier: Apache-2.0
#include "resnet.h"

#include <algorithm>

#include "image_shape.h"
#include "parts.h"

namespace trivet::vision {
namespace {

struct Variant {
  std::int64_t depth;
  ResNetBlock block;
  std::vector<std::int64_t> blocks;
};

// Table 1 of the paper.
const std::vector<Variant>& variants() {
  static const std::vector<Variant> kVariants = {{18, ResNetBlock::basic, {2, 2, 2, 2}},
                                                 {34, ResNetBlock::basic, {3, 4, 6, 3}},
                                                 {50, ResNetBlock::bottleneck, {3, 4, 6, 3}},
                                                 {101, ResNetBlock::bottleneck, {3, 4, 23, 3}},
                                                 {152, ResNetBlock::bottleneck, {3, 8, 36, 3}}};
  return kVariants;
}

const Variant* variant_of(std::int64_t depth) {
  const auto found =
      std::ranges::find_if(variants(), [&](const Variant& v) { return v.depth == depth; });
  return found == variants().end() ? nullptr : &*found;
}

// The width of stage i. The config is validated, so this does not overflow.
std::int64_t width_of(const ResNetConfig& config, std::size_t stage) {
  return config.width << stage;
}

}  // namespace

void ResNetConfig::validate(Diagnostics& diagnostics) const {
  constexpr std::size_t kMostStages = 10;  // width * 2^9; 512 pixels become one
  constexpr std::int64_t kMostBlocks = 10000, kMostWidth = 1 << 20;
  check_image_shape(diagnostics, image_shape);
  if (depth != 0 && variant_of(depth) == nullptr) {
    diagnostics.add("depth", "is " + std::to_string(depth) + ", which is not in the paper's table",
                    "use 18, 34, 50, 101 or 152, or set block and blocks instead");
  }
  if (depth != 0 && !blocks.empty()) {
    diagnostics.add("blocks", "is set together with depth", "set one of them");
  }
  if (depth == 0 && blocks.empty()) {
    diagnostics.add("blocks", "is empty", "set it, or depth");
  }
  if (blocks.size() > kMostStages) {
    diagnostics.add("blocks", "has " + std::to_string(blocks.size()) + " stages",
                    "use at most " + std::to_string(kMostStages));
  }
  for (const std::int64_t count : blocks) {
    if (count > kMostBlocks) diagnostics.add("blocks", "has a stage of more than 10,000 blocks");
  }
  if (stem_kernel % 2 == 0) {
    diagnostics.add("stem_kernel", "is even, so it has no center pixel", "use an odd number");
  }
  if (width > kMostWidth) diagnostics.add("width", "is more than 1,048,576 filters");
}

ResNet::ResNet(const Config& config, Scope& scope) : image_shape_(config.image_shape) {
  const Variant own{0, config.block, config.blocks};
  const Variant& variant = config.depth == 0 ? own : *variant_of(config.depth);
  const bool bottleneck = variant.block == ResNetBlock::bottleneck;
  ResidualOptions options{config.norm_momentum, config.norm_epsilon, config.zero_init_residual,
                          config.init};
  if (options.init.method == Init::layer_default) options.init.method = Init::he_normal;
  stem_ = scope.layer("stem", centered_convolution(
                                  image_shape_[2], config.width, config.stem_kernel,
                                  {.stride = config.stem_stride, .has_bias = false}, options.init));
  stem_norm_ = scope.layer("stem_norm", batch_norm(config.width, "nn/Relu", options));
  if (config.stem_pool) stem_pool_ = scope.layer("stem_pool", halving_max_pool());
  std::int64_t dims = config.width;
  for (std::size_t stage = 0; stage < variant.blocks.size(); ++stage) {
    const Scope inside = scope.child("stage_" + std::to_string(stage));
    for (std::int64_t i = 0; i < variant.blocks[stage]; ++i) {
      const std::int64_t stride = stage > 0 && i == 0 ? 2 : 1;
      blocks_.emplace_back(dims, width_of(config, stage), stride, bottleneck, options,
                           inside.child("block_" + std::to_string(i)));
      dims = blocks_.back().output_dims();
    }
  }
  pool_ = scope.layer("pool", "nn/GlobalAvgPool2d");
  if (config.dropout > 0) dropout_ = scope.layer("dropout", dropout(config.dropout));
  output_ = scope.layer("output", linear(dims, config.num_classes, {}, config.init));
}

NestedMap ResNet::fprop(const Batch& batch, FpropContext& context) {
  Tensor x = expected_image("vision/ResNet", batch, image_shape_);
  x = stem_norm_->fprop(stem_->fprop(x, context), context);
  if (stem_pool_) x = stem_pool_->fprop(x, context);
  for (ResidualBlock& block : blocks_) x = block.fprop(x, context);
  x = pool_->fprop(x, context);
  if (dropout_) x = dropout_->fprop(x, context);
  return {{"logits", output_->fprop(x, context)}};
}

}  // namespace trivet::vision
