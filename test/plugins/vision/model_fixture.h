// SPDX-License-Identifier: Apache-2.0
// One image model from a config, on one backend, with its parameters.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "support/layer_fixture.h"
#include "support/plugins.h"
#include "trivet/layer/scope.h"
#include "trivet/model.h"

namespace trivet::test {

template <class Model>
class ModelFixture {
 public:
  explicit ModelFixture(const typename Model::Config& config,
                        const std::string& backend = "tiny/Backend")
      : device(open_device(backend)), store(*device, RngKey(7)) {
    use_plugin("nn");
    Scope scope(store);
    model = std::make_unique<Model>(config, scope);
    store.build();
  }

  std::map<std::string, std::string> shapes() const {
    std::map<std::string, std::string> found;
    for (const auto& parameter : store.parameters()) {
      found[parameter->path()] = parameter->shape().to_string();
    }
    return found;
  }
  std::vector<float> values(const std::string& path) const {
    return store.find(path)->value().template to_host<float>();
  }
  Tensor logits(const std::vector<float>& pixels, const Shape& shape, bool train = false) {
    const Batch batch{{"image", Tensor::from(*device, std::span<const float>(pixels), shape)}};
    FpropContext context;
    context.train = train;
    context.key = RngKey(11);
    return model->fprop(batch, context).at("logits");
  }

  std::unique_ptr<Device> device;
  ParameterStore store;
  std::unique_ptr<Model> model;
};

// Gives the norms random values, gammas around 1.
template <class Model>
void stir_norms(ModelFixture<Model>& fixture) {
  std::uint64_t seed = 50;
  for (const auto& parameter : fixture.store.parameters()) {
    if (parameter->path().find("norm") == std::string::npos || !parameter->trainable()) continue;
    std::vector<float> values = random_values(parameter->shape().size(), ++seed, 0.3);
    for (float& value : values) value += parameter->path().ends_with("gamma") ? 1 : 0;
    parameter->assign(
        Tensor::from(*fixture.device, std::span<const float>(values), parameter->shape()));
  }
}

}  // namespace trivet::test
