// SPDX-License-Identifier: Apache-2.0
#include "mobilenet.h"

#include <algorithm>

#include "vision/blocks/image_shape.h"
#include "vision/blocks/parts.h"
#include "vision/blocks/residual_block.h"

namespace trivet::vision {
namespace {

constexpr std::int64_t kStemFilters = 32;

// The multiple of `divisor` nearest to `filters`, at least `least` and 0.9 filters.
std::int64_t rounded(double filters, std::int64_t divisor, std::int64_t least) {
  const auto half_up = static_cast<std::int64_t>(filters + static_cast<double>(divisor) / 2);
  std::int64_t nearest = std::max(half_up / divisor * divisor, least);
  if (static_cast<double>(nearest) < 0.9 * filters) nearest += divisor;
  return nearest;
}

}  // namespace

void MobileNetConfig::validate(Diagnostics& diagnostics) const {
  constexpr std::size_t kMostBlocks = 10000;
  check_image_shape(diagnostics, image_shape);
  if (channels.empty()) diagnostics.add("channels", "is empty", "a network has at least one block");
  if (channels.size() > kMostBlocks) diagnostics.add("channels", "has more than 10,000 blocks");
  const auto as_many = [&](const char* field, const std::vector<std::int64_t>& values) {
    if (values.size() == channels.size()) return;
    diagnostics.add(field,
                    "has " + std::to_string(values.size()) + " numbers, and channels has " +
                        std::to_string(channels.size()),
                    "give one number for each block");
  };
  as_many("expansions", expansions);
  as_many("strides", strides);
  if (stem_kernel % 2 == 0) {
    diagnostics.add("stem_kernel", "is even, so it has no center pixel", "use an odd number");
  }
}

MobileNet::MobileNet(const Config& config, Scope& scope) : image_shape_(config.image_shape) {
  const ResidualOptions options{config.norm_momentum, config.norm_epsilon, false, config.init};
  const auto filters = [&](std::int64_t count) {
    return static_cast<double>(count) * config.multiplier;
  };
  std::int64_t dims = rounded(filters(kStemFilters), config.divisible_by, config.min_depth);
  stem_ = scope.layer(
      "stem",
      filters_of({image_shape_[2], dims, config.stem_kernel, config.stem_stride}, config.init));
  stem_norm_ = scope.layer("stem_norm", batch_norm(dims, "nn/Relu6", options));
  for (std::size_t i = 0; i < config.channels.size(); ++i) {
    const std::int64_t out =
        rounded(filters(config.channels[i]), config.divisible_by, config.divisible_by);
    blocks_.emplace_back(dims, out, config.expansions[i], config.strides[i], options,
                         scope.child("block_" + std::to_string(i)));
    dims = out;
  }
  const std::int64_t out = config.multiplier > 1 ? rounded(filters(config.output_channels),
                                                           config.divisible_by, config.min_depth)
                                                 : config.output_channels;
  head_ = scope.layer("head", filters_of({dims, out, 1}, config.init));
  head_norm_ = scope.layer("head_norm", batch_norm(out, "nn/Relu6", options));
  pool_ = scope.layer("pool", "nn/GlobalAvgPool2d");
  if (config.dropout > 0) dropout_ = scope.layer("dropout", dropout(config.dropout));
  output_ = scope.layer("output", linear(out, config.num_classes, {}, config.init));
}

NestedMap MobileNet::fprop(const Batch& batch, FpropContext& context) {
  Tensor x = expected_image("vision/MobileNet", batch, image_shape_);
  x = stem_norm_->fprop(stem_->fprop(x, context), context);
  for (InvertedResidual& block : blocks_) x = block.fprop(x, context);
  x = pool_->fprop(head_norm_->fprop(head_->fprop(x, context), context), context);
  if (dropout_) x = dropout_->fprop(x, context);
  return {{"logits", output_->fprop(x, context)}};
}

}  // namespace trivet::vision
