// SPDX-License-Identifier: Apache-2.0
// Cnn: blocks of convolution, activation and 2 x 2 max-pooling, then two fully connected layers.
// Parameters "conv_0/w", "conv_0/b", ..., "hidden/w", "hidden/b", "output/w", "output/b".
#pragma once

#include <memory>
#include <vector>

#include "trivet/model.h"

namespace trivet::vision {

struct CnnConfig : ModelConfig {
  std::vector<std::int64_t> image_shape = {28, 28, 1};
  std::vector<std::int64_t> channels = {32, 64};
  std::int64_t kernel = 3;
  std::int64_t hidden_dims = 128;
  std::int64_t num_classes = 10;
  ConfigOf<Layer> activation = "nn/Relu";
  double dropout = 0;
  InitConfig init;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(CnnConfig, trivet::ModelConfig,
              (image_shape, "Height, width and channels of the images.", at_least(1)),
              (channels, "Filters of each block; every block halves height and width.",
               at_least(1)),
              (kernel, "Height and width of the filters.", at_least(1)),
              (hidden_dims, "Depth of the hidden layer after the blocks.", at_least(1)),
              (num_classes, "Depth of the logits.", at_least(2)),
              (activation, "Activation after each convolution and the hidden layer."),
              (dropout, "Share of the hidden layer's units dropped in training.", at_least(0),
               less_than(1), adjustable),
              (init, "Initializer of the weights. Default: that of each layer."))

class Cnn final : public Model {
 public:
  using Config = CnnConfig;
  Cnn(const Config& config, Scope& scope);
  NestedMap fprop(const Batch& batch, FpropContext& context) override;

 private:
  std::vector<std::int64_t> image_shape_;
  std::vector<std::shared_ptr<Layer>> layers_;
};

}  // namespace trivet::vision
