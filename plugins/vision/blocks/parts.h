// SPDX-License-Identifier: Apache-2.0
// Layer templates for the models here, by their keys.
#pragma once

#include <cstdint>

#include "trivet/layer.h"

namespace trivet::vision {

ConfigOf<Layer> linear(std::int64_t input_dims, std::int64_t output_dims,
                       const ConfigOf<Layer>& activation, const InitConfig& init,
                       const ConfigOf<Layer>& parametrization = {},
                       const ConfigOf<Layer>& input_quantization = {});
// Padding "same", stride 1.
ConfigOf<Layer> convolution(std::int64_t input_dims, std::int64_t output_dims, std::int64_t kernel,
                            const ConfigOf<Layer>& activation, const InitConfig& init);
ConfigOf<Layer> dropout(double rate);
ConfigOf<Layer> drop_path(double rate);
// The mean of size x size pixels, without overlap; of those that there are at the right and lower
// edge.
ConfigOf<Layer> mean_pool(std::int64_t size);
// 3 x 3, stride 2, one position outside on every side.
ConfigOf<Layer> halving_max_pool();

struct ConvolutionOptions {
  std::int64_t stride = 1;
  bool has_bias = true;
  std::int64_t groups = 1;
};
// kernel x kernel filters with kernel / 2 zeros on every side, as usual outside TensorFlow.
ConfigOf<Layer> centered_convolution(std::int64_t input_dims, std::int64_t output_dims,
                                     std::int64_t kernel, const ConvolutionOptions& options,
                                     const InitConfig& init);

}  // namespace trivet::vision
