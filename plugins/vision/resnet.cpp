// SPDX-License-Identifier: Apache-2.0
#include "resnet.h"

#include <algorithm>

#include "vision/blocks/image_shape.h"
#include "vision/blocks/parts.h"

namespace trivet::vision {
namespace {

struct Variant {
  std::int64_t depth;
  ResNetBlock block;
  std::vector<std::int64_t> blocks;
};

// Table 1 of the paper, and those of Model Garden and of ResNet-RS (Bello et al. 2021).
const std::vector<Variant>& variants() {
  constexpr ResNetBlock kBasic = ResNetBlock::basic, kBottleneck = ResNetBlock::bottleneck;
  static const std::vector<Variant> kVariants = {
      {10, kBasic, {1, 1, 1, 1}},         {18, kBasic, {2, 2, 2, 2}},
      {34, kBasic, {3, 4, 6, 3}},         {50, kBottleneck, {3, 4, 6, 3}},
      {101, kBottleneck, {3, 4, 23, 3}},  {152, kBottleneck, {3, 8, 36, 3}},
      {200, kBottleneck, {3, 24, 36, 3}}, {270, kBottleneck, {4, 29, 53, 4}},
      {350, kBottleneck, {4, 36, 72, 4}}, {420, kBottleneck, {4, 44, 87, 4}}};
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

constexpr std::int64_t kUnscaledStem = 64;  // with scale_stem = false

// What stem fields say together with others.
void validate_stem(const ResNetConfig& config, Diagnostics& diagnostics) {
  const bool three = config.stem_type == StemType::v1;
  if (config.stem_kernel % 2 == 0) {
    diagnostics.add("stem_kernel", "is even, so it has no center pixel", "use an odd number");
  } else if (three && config.stem_kernel != 3) {
    diagnostics.add("stem_kernel",
                    "is " + std::to_string(config.stem_kernel) +
                        ", but stem_type = \"v1\" has filters of 3 x 3",
                    "remove it, or set stem_type = \"v0\"");
  }
  if (three && config.scale_stem && config.width % 2 != 0) {
    diagnostics.add("width", "is odd, but the first filters of stem_type = \"v1\" are half as many",
                    "use an even number, or set scale_stem = false");
  }
  if (config.replace_stem_max_pool && !config.stem_pool) {
    diagnostics.add("replace_stem_max_pool", "is true, but there is no pooling to replace",
                    "set stem_pool = true, or remove it");
  }
}

// The stem's layers in order.
std::vector<std::shared_ptr<Layer>> make_stem(const ResNetConfig& config,
                                              const ResidualOptions& options, const Scope& scope) {
  std::vector<std::shared_ptr<Layer>> layers;
  std::int64_t dims = config.image_shape[2];
  const auto add = [&](const std::string& name, const std::string& norm, std::int64_t filters,
                       std::int64_t kernel, std::int64_t stride) {
    layers.push_back(scope.layer(
        name, centered_convolution(dims, filters, kernel, {.stride = stride, .has_bias = false},
                                   options.init)));
    layers.push_back(scope.layer(norm, batch_norm(filters, options.activation, options)));
    dims = filters;
  };
  const std::int64_t filters = config.scale_stem ? config.width : kUnscaledStem;
  if (config.stem_type == StemType::v0) {
    add("stem", "stem_norm", filters, config.stem_kernel, config.stem_stride);
  } else {
    add("stem_0", "stem_norm_0", filters / 2, 3, config.stem_stride);
    add("stem_1", "stem_norm_1", filters / 2, 3, 1);
    add("stem_2", "stem_norm_2", filters, 3, 1);
  }
  if (config.replace_stem_max_pool) {
    add("stem_pool", "stem_pool_norm", config.width, 3, 2);
  } else if (config.stem_pool) {
    layers.push_back(scope.layer("stem_pool", halving_max_pool()));
  }
  return layers;
}

// Of the blocks of stage i of n.
double drop_rate_of(const ResNetConfig& config, std::size_t stage, std::size_t stages) {
  return config.stochastic_depth_drop_rate * static_cast<double>(stage + 2) /
         static_cast<double>(stages + 1);
}

}  // namespace

void ResNetConfig::validate(Diagnostics& diagnostics) const {
  constexpr std::size_t kMostStages = 10;  // width * 2^9; 512 pixels become one
  constexpr std::int64_t kMostBlocks = 10000, kMostWidth = 1 << 20;
  check_image_shape(diagnostics, image_shape);
  if (depth != 0 && variant_of(depth) == nullptr) {
    diagnostics.add("depth", "is " + std::to_string(depth) + ", which is not in the table",
                    "use 10, 18, 34, 50, 101, 152, 200, 270, 350 or 420, or set block and blocks "
                    "instead");
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
  if (blocks.size() == 1 && resnetd_shortcut) {
    diagnostics.add("resnetd_shortcut",
                    "is true, but no shortcut of a single stage halves the image", "remove it");
  }
  validate_stem(*this, diagnostics);
  if (width > kMostWidth) diagnostics.add("width", "is more than 1,048,576 filters");
}

ResNet::ResNet(const Config& config, Scope& scope) : image_shape_(config.image_shape) {
  const Variant own{0, config.block, config.blocks};
  const Variant& variant = config.depth == 0 ? own : *variant_of(config.depth);
  const bool bottleneck = variant.block == ResNetBlock::bottleneck;
  ResidualOptions options{.norm_momentum = config.norm_momentum,
                          .norm_epsilon = config.norm_epsilon,
                          .zero_init = config.zero_init_residual,
                          .init = config.init,
                          .activation = config.activation,
                          .resnetd_shortcut = config.resnetd_shortcut,
                          .se_ratio = config.se_ratio};
  if (options.init.method == Init::layer_default) options.init.method = Init::he_normal;
  stem_ = make_stem(config, options, scope);
  std::int64_t dims =
      config.scale_stem || config.replace_stem_max_pool ? config.width : kUnscaledStem;
  for (std::size_t stage = 0; stage < variant.blocks.size(); ++stage) {
    const Scope inside = scope.child("stage_" + std::to_string(stage));
    options.drop_rate = drop_rate_of(config, stage, variant.blocks.size());
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
  for (const auto& layer : stem_) x = layer->fprop(x, context);
  for (ResidualBlock& block : blocks_) x = block.fprop(x, context);
  x = pool_->fprop(x, context);
  if (dropout_) x = dropout_->fprop(x, context);
  return {{"logits", output_->fprop(x, context)}};
}

}  // namespace trivet::vision
