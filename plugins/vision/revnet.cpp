// SPDX-License-Identifier: Apache-2.0
#include "revnet.h"

#include <algorithm>
#include <string>

#include "trivet/layer/remat.h"
#include "vision/blocks/image_shape.h"
#include "vision/blocks/parts.h"

namespace trivet::vision {
namespace {

struct RevNetVariant {
  std::int64_t depth;
  ResNetBlock block;
  std::vector<std::int64_t> blocks, channels;
};

const std::vector<RevNetVariant>& revnet_variants() {
  static const std::vector<RevNetVariant> kVariants = {
      {38, ResNetBlock::basic, {3, 3, 3}, {32, 64, 112}},
      {56, ResNetBlock::bottleneck, {2, 2, 3, 2}, {128, 256, 512, 832}},
      {104, ResNetBlock::bottleneck, {2, 2, 11, 2}, {128, 256, 512, 832}}};
  return kVariants;
}

const RevNetVariant* revnet_variant_of(std::int64_t depth) {
  const auto found = std::ranges::find_if(revnet_variants(),
                                          [&](const RevNetVariant& v) { return v.depth == depth; });
  return found == revnet_variants().end() ? nullptr : &*found;
}

void validate_stages(const RevNetConfig& config, Diagnostics& diagnostics) {
  constexpr std::size_t kMostStages = 10;
  constexpr std::int64_t kMostBlocks = 10000, kMostChannels = 1 << 20;
  const std::vector<std::int64_t>&blocks = config.blocks, &channels = config.channels;
  if (blocks.empty()) diagnostics.add("blocks", "is empty", "set it, or depth");
  if (blocks.size() > kMostStages) {
    diagnostics.add("blocks", "has " + std::to_string(blocks.size()) + " stages",
                    "use at most " + std::to_string(kMostStages));
  }
  for (const std::int64_t count : blocks) {
    if (count > kMostBlocks) diagnostics.add("blocks", "has a stage of more than 10,000 blocks");
  }
  if (channels.size() != blocks.size()) {
    diagnostics.add("channels",
                    "has " + std::to_string(channels.size()) + " numbers, and blocks has " +
                        std::to_string(blocks.size()),
                    "give one number for each stage");
  }
  for (std::size_t i = 0; i < channels.size(); ++i) {
    const std::string number = std::to_string(channels[i]);
    if (channels[i] % 2 != 0) {
      diagnostics.add("channels", "has " + number + ", which has no two equal halves",
                      "use even numbers");
    }
    if (i > 0 && channels[i] < channels[i - 1]) {
      diagnostics.add("channels",
                      "falls from " + std::to_string(channels[i - 1]) + " to " + number +
                          ", and the sums would lose channels",
                      "let no stage have fewer than the one before");
    }
    if (channels[i] > kMostChannels) diagnostics.add("channels", "has more than 1,048,576 filters");
  }
}

}  // namespace

void RevNetConfig::validate(Diagnostics& diagnostics) const {
  check_image_shape(diagnostics, image_shape);
  if (depth == 0) {
    validate_stages(*this, diagnostics);
  } else {
    if (revnet_variant_of(depth) == nullptr) {
      diagnostics.add("depth", "is " + std::to_string(depth) + ", which is not in the table",
                      "use 38, 56 or 104, or set block, blocks and channels instead");
    }
    if (!blocks.empty()) {
      diagnostics.add("blocks", "is set together with depth", "set one of them");
    }
    if (!channels.empty()) {
      diagnostics.add("channels", "is set together with depth", "set one of them");
    }
  }
  if (stem_kernel % 2 == 0) {
    diagnostics.add("stem_kernel", "is even, so it has no center pixel", "use an odd number");
  }
}

RevNet::RevNet(const Config& config, Scope& scope)
    : image_shape_(config.image_shape), policy_(config.checkpoint_policy) {
  const RevNetVariant own{0, config.block, config.blocks, config.channels};
  const RevNetVariant& variant = config.depth == 0 ? own : *revnet_variant_of(config.depth);
  ResidualOptions options{.norm_momentum = config.norm_momentum,
                          .norm_epsilon = config.norm_epsilon,
                          .zero_init = false,
                          .init = config.init,
                          .activation = config.activation};
  if (options.init.method == Init::layer_default) options.init.method = Init::he_normal;
  std::int64_t dims = variant.channels[0];
  stem_.push_back(scope.layer(
      "stem",
      centered_convolution(image_shape_[2], dims, config.stem_kernel,
                           {.stride = config.stem_stride, .has_bias = false}, options.init)));
  stem_.push_back(scope.layer("stem_norm", batch_norm(dims, config.activation, options)));
  if (config.stem_pool) stem_.push_back(scope.layer("stem_pool", halving_max_pool()));
  for (std::size_t stage = 0; stage < variant.blocks.size(); ++stage) {
    const Scope inside = scope.child("stage_" + std::to_string(stage));
    for (std::int64_t i = 0; i < variant.blocks[stage]; ++i) {
      const bool changes = stage > 0 && i == 0;
      blocks_.push_back(std::make_unique<ReversibleBlock>(
          dims,
          ReversibleBlock::Form{.width = variant.channels[stage],
                                .stride = changes ? 2 : 1,
                                .bottleneck = variant.block == ResNetBlock::bottleneck,
                                .norm_first = changes},
          options, inside.child("block_" + std::to_string(i))));
      dims = blocks_.back()->output_dims();
    }
  }
  if (config.add_head_batch_norm) {
    head_.push_back(scope.layer("head_norm", batch_norm(dims, {}, options)));
  }
  head_.push_back(scope.layer("pool", "nn/GlobalAvgPool2d"));
  if (config.dropout > 0) head_.push_back(scope.layer("dropout", dropout(config.dropout)));
  head_.push_back(scope.layer("output", linear(dims, config.num_classes, {}, config.init)));
}

NestedMap RevNet::fprop(const Batch& batch, FpropContext& context) {
  Tensor x = expected_image("vision/RevNet", batch, image_shape_);
  for (const auto& layer : stem_) x = layer->fprop(x, context);
  for (const auto& block : blocks_) {
    x = policy_ == CheckpointPolicy::save_nothing ? remat(*block, x, context)
                                                  : block->fprop(x, context);
  }
  for (const auto& layer : head_) x = layer->fprop(x, context);
  return {{"logits", x}};
}

}  // namespace trivet::vision
