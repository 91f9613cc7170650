// SPDX-License-Identifier: Apache-2.0
// Regressor: linear layers with an activation between them. Reads "x" f32 [B, input_dims] from the
// batch and returns "prediction" f32 [B, output_dims]. Variables: "hidden_0/w", "hidden_0/b", ...,
// "output/w", "output/b", and those of the activations.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <trivet/error.h>
#include <trivet/model.h>

namespace acme {

// [class]
struct RegressorConfig : trivet::ModelConfig {
  std::int64_t input_dims = 1;
  std::vector<std::int64_t> hidden_dims = {32};
  std::int64_t output_dims = 1;
  trivet::ConfigOf<trivet::Layer> activation = "examples/Swish";
};
TRIVET_CONFIG(RegressorConfig, trivet::ModelConfig,
              (input_dims, "Features of an example.", at_least(1)),
              (hidden_dims, "Units of each hidden layer.", at_least(1)),
              (output_dims, "Numbers to predict.", at_least(1)),
              (activation, "Applied after each hidden layer."))

class Regressor final : public trivet::Model {
 public:
  using Config = RegressorConfig;

  Regressor(const Config& config, trivet::Scope& scope) : input_dims_(config.input_dims) {
    std::int64_t dims = config.input_dims;
    for (std::size_t i = 0; i < config.hidden_dims.size(); ++i) {
      const std::string name = "hidden_" + std::to_string(i);
      layers_.push_back(scope.layer(name, linear(dims, config.hidden_dims[i], config.activation)));
      dims = config.hidden_dims[i];
    }
    layers_.push_back(scope.layer("output", linear(dims, config.output_dims, {})));
  }

  trivet::NestedMap fprop(const trivet::Batch& batch, trivet::FpropContext& context) override {
    trivet::Tensor x = batch.at("x");
    if (x.rank() != 2 || x.dim(1) != input_dims_) {
      throw trivet::Error("examples/Regressor: expected x [B, " + std::to_string(input_dims_) +
                          "], got " + x.to_string());
    }
    for (const auto& layer : layers_) x = layer->fprop(x, context);
    return {{"prediction", x}};
  }

 private:
  // A layer of another plugin is named by its key: no header of it is needed.
  static trivet::ConfigOf<trivet::Layer> linear(std::int64_t input_dims, std::int64_t output_dims,
                                                const trivet::ConfigOf<trivet::Layer>& activation) {
    trivet::Value fields =
        trivet::Value::table({{"input_dims", input_dims}, {"output_dims", output_dims}});
    if (activation) fields.set("activation", activation.to_value());
    return {"nn/Linear", std::move(fields)};
  }

  std::int64_t input_dims_;
  std::vector<std::shared_ptr<trivet::Layer>> layers_;
};
// [/class]

}  // namespace acme
