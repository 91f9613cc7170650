// SPDX-License-Identifier: Apache-2.0
#include "mlp.h"

#include "vision/blocks/image_shape.h"
#include "vision/blocks/parts.h"

namespace trivet::vision {

void MlpConfig::validate(Diagnostics& diagnostics) const {
  check_image_shape(diagnostics, image_shape);
}

Mlp::Mlp(const Config& config, Scope& scope) : image_shape_(config.image_shape) {
  std::int64_t dims = image_shape_[0] * image_shape_[1] * image_shape_[2];
  layers_.push_back(scope.layer("flatten", "nn/Flatten"));
  const auto product = [&](std::int64_t out, const ConfigOf<Layer>& activation) {
    return linear(dims, out, activation, config.init, config.parametrization,
                  config.input_quantization);
  };
  for (std::size_t i = 0; i < config.hidden_dims.size(); ++i) {
    const std::string number = std::to_string(i);
    layers_.push_back(
        scope.layer("hidden_" + number, product(config.hidden_dims[i], config.activation)));
    if (config.dropout > 0) {
      layers_.push_back(scope.layer("dropout_" + number, dropout(config.dropout)));
    }
    dims = config.hidden_dims[i];
  }
  layers_.push_back(scope.layer("output", product(config.num_classes, {})));
}

NestedMap Mlp::fprop(const Batch& batch, FpropContext& context) {
  Tensor x = expected_image("vision/Mlp", batch, image_shape_);
  for (const auto& layer : layers_) x = layer->fprop(x, context);
  return {{"logits", x}};
}

}  // namespace trivet::vision
