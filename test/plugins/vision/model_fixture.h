// SPDX-License-Identifier: Apache-2.0
// One image model from a config, on one backend, with its parameters.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

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

}  // namespace trivet::test
