// SPDX-License-Identifier: Apache-2.0
#include "cnn.h"

#include <algorithm>

#include "vision/blocks/image_shape.h"
#include "vision/blocks/parts.h"

namespace trivet::vision {

void CnnConfig::validate(Diagnostics& diagnostics) const {
  check_image_shape(diagnostics, image_shape);
  if (image_shape.size() != 3) return;
  const std::int64_t shorter = std::min(image_shape[0], image_shape[1]);
  if (channels.size() >= 63 || (shorter >> channels.size()) < 1) {
    diagnostics.add("channels",
                    "has " + std::to_string(channels.size()) + " blocks, which halve " +
                        std::to_string(shorter) + " pixels to nothing",
                    "use fewer blocks or larger images");
  }
}

Cnn::Cnn(const Config& config, Scope& scope) : image_shape_(config.image_shape) {
  std::int64_t height = image_shape_[0], width = image_shape_[1], depth = image_shape_[2];
  for (std::size_t i = 0; i < config.channels.size(); ++i) {
    const std::string number = std::to_string(i);
    layers_.push_back(scope.layer(
        "conv_" + number,
        convolution(depth, config.channels[i], config.kernel, config.activation, config.init)));
    layers_.push_back(scope.layer("pool_" + number, "nn/MaxPool2d"));
    depth = config.channels[i];
    height /= 2;
    width /= 2;
  }
  layers_.push_back(scope.layer("flatten", "nn/Flatten"));
  layers_.push_back(scope.layer("hidden", linear(height * width * depth, config.hidden_dims,
                                                 config.activation, config.init)));
  if (config.dropout > 0) layers_.push_back(scope.layer("dropout", dropout(config.dropout)));
  layers_.push_back(
      scope.layer("output", linear(config.hidden_dims, config.num_classes, {}, config.init)));
}

NestedMap Cnn::fprop(const Batch& batch, FpropContext& context) {
  Tensor x = expected_image("vision/Cnn", batch, image_shape_);
  for (const auto& layer : layers_) x = layer->fprop(x, context);
  return {{"logits", x}};
}

}  // namespace trivet::vision
