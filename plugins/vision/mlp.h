// SPDX-License-Identifier: Apache-2.0
// Mlp: fully connected layers over all pixels. Parameters "hidden_0/w", "hidden_0/b", ...,
// "output/w", "output/b".
#pragma once

#include <memory>
#include <vector>

#include "trivet/model.h"

namespace trivet::vision {

struct MlpConfig : ModelConfig {
  std::vector<std::int64_t> image_shape = {28, 28, 1};
  std::vector<std::int64_t> hidden_dims = {512};
  std::int64_t num_classes = 10;
  ConfigOf<Layer> activation = "nn/Relu";
  double dropout = 0;
  InitConfig init;
  ConfigOf<Layer> parametrization;
  ConfigOf<Layer> input_quantization;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(MlpConfig, trivet::ModelConfig,
              (image_shape, "Height, width and channels of the images.", at_least(1)),
              (hidden_dims, "Depth of each hidden layer.", at_least(1)),
              (num_classes, "Depth of the logits.", at_least(2)),
              (activation, "Activation after each hidden layer."),
              (dropout, "Share of hidden units dropped in training.", at_least(0), less_than(1),
               adjustable),
              (init, "Initializer of the weights. Default: that of nn/Linear."),
              (parametrization, "Layer that makes the weights of each layer from its w."),
              (input_quantization,
               "Layer that makes the input of each layer, e.g. nn/ActivationQuantization."))

class Mlp final : public Model {
 public:
  using Config = MlpConfig;
  Mlp(const Config& config, Scope& scope);
  NestedMap fprop(const Batch& batch, FpropContext& context) override;

 private:
  std::vector<std::int64_t> image_shape_;
  std::vector<std::shared_ptr<Layer>> layers_;
};

}  // namespace trivet::vision
