// SPDX-License-Identifier: Apache-2.0
#include "vision/blocks/inverted_residual.h"

#include <cmath>
#include <string>

#include "trivet/ops.h"
#include "vision/blocks/parts.h"

namespace trivet::vision {

ConfigOf<Layer> filters_of(const Filters& filters, const InitConfig& init) {
  InitConfig start = init;
  if (start.method == Init::layer_default) {
    const auto fan_out = static_cast<double>(filters.kernel * filters.kernel * filters.output_dims);
    start = {Init::normal, std::sqrt(2 / fan_out)};
  }
  return centered_convolution(
      filters.input_dims, filters.output_dims, filters.kernel,
      {.stride = filters.stride, .has_bias = false, .groups = filters.groups}, start);
}

InvertedResidual::InvertedResidual(std::int64_t input_dims, std::int64_t output_dims,
                                   std::int64_t expansion, std::int64_t stride,
                                   const ResidualOptions& options, const Scope& scope)
    : adds_input_(stride == 1 && input_dims == output_dims) {
  const auto add = [&](const std::string& name, const Filters& filters,
                       const ConfigOf<Layer>& activation) {
    layers_.push_back(scope.layer(name, filters_of(filters, options.init)));
    layers_.push_back(
        scope.layer(name + "_norm", batch_norm(filters.output_dims, activation, options)));
  };
  const std::int64_t wide = expansion * input_dims;
  if (expansion > 1) add("expand", {input_dims, wide, 1}, "nn/Relu6");
  add("depthwise", {wide, wide, 3, stride, wide}, "nn/Relu6");
  add("project", {wide, output_dims, 1}, {});
}

Tensor InvertedResidual::fprop(const Tensor& x, FpropContext& context) {
  Tensor y = x;
  for (const auto& layer : layers_) y = layer->fprop(y, context);
  return adds_input_ ? ops::add(x, y) : y;
}

}  // namespace trivet::vision
