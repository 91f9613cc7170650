// SPDX-License-Identifier: Apache-2.0
#include "nn/basic/parametrization.h"

#include <utility>

#include "nn/basic/checks.h"
#include "trivet/layer/layer_template.h"
#include "trivet/plugin/registry.h"

namespace trivet::nn {

ConfigOf<Layer> parametrization_for(ConfigOf<Layer> layer, std::int64_t dims) {
  if (layer && registry().get(Layer::kKind, layer.key()).schema().find("dim") != nullptr) {
    complete(layer, "dim", dims, 0);
  }
  return layer;
}

ConfigOf<Layer> parametrized(const ConfigOf<Layer>& layer, const ConfigOf<Layer>& parametrization,
                             const ConfigOf<Layer>& input_quantization) {
  Value fields = layer.fields();
  if (parametrization) fields.set("parametrization", parametrization.to_value());
  if (input_quantization) fields.set("input_quantization", input_quantization.to_value());
  return {std::string(layer.key()), std::move(fields)};
}

Tensor weights_of(const Parameter& parameter, Layer* parametrization, FpropContext& context,
                  std::string_view type, const std::string& path) {
  const Tensor& own = parameter.value();
  if (parametrization == nullptr) return own;
  Tensor made = parametrization->fprop(own, context);
  if (made.shape() != own.shape()) {
    wrong_input(type, path, "weights " + own.shape().to_string() + " of its parametrization", made);
  }
  return made;
}

}  // namespace trivet::nn
