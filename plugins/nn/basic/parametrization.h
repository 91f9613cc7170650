// SPDX-License-Identifier: Apache-2.0
// Layers that make the weights of another layer from its parameter: its field `parametrization`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "trivet/layer.h"

namespace trivet::nn {

// A template for weights [.., dims]. Sets its field `dim` if it has one.
ConfigOf<Layer> parametrization_for(ConfigOf<Layer> layer, std::int64_t dims);

// A template of a product with this `parametrization` and `input_quantization`; an empty one is
// left out.
ConfigOf<Layer> parametrized(const ConfigOf<Layer>& layer, const ConfigOf<Layer>& parametrization,
                             const ConfigOf<Layer>& input_quantization);

// The value of `parameter`, or what `parametrization` makes of it. Throws Error, naming the layer
// around it, for another shape.
Tensor weights_of(const Parameter& parameter, Layer* parametrization, FpropContext& context,
                  std::string_view type, const std::string& path);

}  // namespace trivet::nn
