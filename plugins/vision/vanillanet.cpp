// SPDX-License-Identifier: Apache-2.0
#include "vanillanet.h"

#include <algorithm>
#include <cmath>

#include "trivet/ops.h"
#include "vision/blocks/image_shape.h"
#include "vision/blocks/parts.h"

namespace trivet::vision {
namespace {

ConfigOf<Layer> filters(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride,
                        const InitConfig& init) {
  InitConfig start = init;
  if (init.method == Init::layer_default) {
    const double widening = static_cast<double>(out) / static_cast<double>(in);
    start = {Init::delta_orthogonal, std::sqrt(std::max(1.0, widening))};
  }
  return centered_convolution(in, out, kernel, {.stride = stride}, start);
}

}  // namespace

void VanillaNetConfig::validate(Diagnostics& diagnostics) const {
  check_image_shape(diagnostics, image_shape);
  if (blocks.empty()) diagnostics.add("blocks", "is empty", "a network has at least one stage");
  const auto as_many = [&](const char* field, const std::vector<std::int64_t>& values) {
    if (values.size() == blocks.size()) return;
    diagnostics.add(field,
                    "has " + std::to_string(values.size()) + " numbers, and blocks has " +
                        std::to_string(blocks.size()),
                    "give one number for each stage");
  };
  as_many("channels", channels);
  as_many("strides", strides);
  as_many("kernels", kernels);
  for (const std::int64_t count : channels) {
    if (count % 4 == 0) continue;
    diagnostics.add("channels", "has " + std::to_string(count) + ", which is no multiple of 4",
                    "the inside of a block has a quarter of the filters");
  }
  const auto centered = [&](const char* field, std::int64_t kernel) {
    if (kernel % 2 != 0) return;
    diagnostics.add(field, "is even, so it has no center pixel", "use an odd number");
  };
  centered("stem_kernel", stem_kernel);
  for (const std::int64_t kernel : kernels) centered("kernels", kernel);
}

VanillaNet::VanillaNet(const Config& config, Scope& scope)
    : image_shape_(config.image_shape),
      gain_(static_cast<float>(std::sqrt(2 / (1 + config.negative_slope * config.negative_slope)))),
      rectifier_(scope.layer(
          "rectifier",
          {"nn/LeakyRelu", Value::table({{"negative_slope", config.negative_slope}})})) {
  std::int64_t dims = config.channels[0] / 4;
  stem_ = scope.layer(
      "stem", filters(image_shape_[2], dims, config.stem_kernel, config.stem_stride, config.init));
  if (config.stem_pool) stem_pool_ = scope.layer("stem_pool", halving_max_pool());
  for (std::size_t stage = 0; stage < config.blocks.size(); ++stage) {
    const Scope inside = scope.child("stage_" + std::to_string(stage));
    const std::int64_t wide = config.channels[stage], narrow = wide / 4;
    for (std::int64_t i = 0; i < config.blocks[stage]; ++i) {
      const Scope block = inside.child("block_" + std::to_string(i));
      const std::int64_t stride = i == 0 ? config.strides[stage] : 1;
      const ConfigOf<Layer> parts[] = {
          filters(dims, narrow, 1, 1, config.init),
          filters(narrow, narrow, config.kernels[stage], stride, config.init),
          filters(narrow, wide, 1, 1, config.init)};
      for (std::size_t k = 0; k < 3; ++k) {
        convolutions_.push_back(block.layer("conv_" + std::to_string(k), parts[k]));
      }
      dims = wide;
    }
  }
  pool_ = scope.layer("pool", "nn/GlobalAvgPool2d");
  output_ = scope.layer("output", linear(dims, config.num_classes, {}, config.init));
}

Tensor VanillaNet::rectified(const Tensor& x, FpropContext& context) const {
  return ops::mul(rectifier_->fprop(x, context), gain_);
}

NestedMap VanillaNet::fprop(const Batch& batch, FpropContext& context) {
  Tensor x = expected_image("vision/VanillaNet", batch, image_shape_);
  x = rectified(stem_->fprop(x, context), context);
  if (stem_pool_) x = stem_pool_->fprop(x, context);
  for (const auto& convolution : convolutions_) {
    x = rectified(convolution->fprop(x, context), context);
  }
  return {{"logits", output_->fprop(pool_->fprop(x, context), context)}};
}

}  // namespace trivet::vision
