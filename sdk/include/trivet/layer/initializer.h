// SPDX-License-Identifier: Apache-2.0
// How a parameter starts. Values are drawn on the host from the parameter's key, so they are equal
// on every backend.
#pragma once

#include <cstdint>
#include <span>

#include "trivet/base/export.h"
#include "trivet/config.h"
#include "trivet/tensor/random.h"
#include "trivet/tensor/shape.h"

namespace trivet {

// fan_in and fan_out are counted as in TensorFlow: the last two axes, times the product of the axes
// before them.
enum class Init {
  layer_default,     // whatever the layer says is its default
  constant,          // scale
  uniform,           // [-scale, scale)
  normal,            // stddev scale
  truncated_normal,  // stddev scale, cut at two stddevs
  xavier_uniform,    // scale * sqrt(6 / (fan_in + fan_out)), Glorot and Bengio 2010
  xavier_normal,     // scale * sqrt(2 / (fan_in + fan_out))
  he_uniform,        // scale * sqrt(6 / fan_in), He et al. 2015
  he_normal,         // scale * sqrt(2 / fan_in)
  lecun_uniform,     // scale * sqrt(3 / fan_in)
  lecun_normal,      // scale * sqrt(1 / fan_in)
  fan_in_uniform,    // scale / sqrt(fan_in): what PyTorch's Linear and Conv2d start with
};
TRIVET_ENUM(Init, layer_default, constant, uniform, normal, truncated_normal, xavier_uniform,
            xavier_normal, he_uniform, he_normal, lecun_uniform, lecun_normal, fan_in_uniform)

struct InitConfig {
  Init method = Init::layer_default;
  double scale = 1.0;
};
TRIVET_CONFIG(InitConfig, trivet::NoBase, (method, "Distribution of the starting values."),
              (scale, "Factor, standard deviation, bound or value, as the method says."))

// Fills `out` (row-major, of `shape`). `fan_in` and `fan_out` replace the counted ones where not 0.
TRIVET_API void initialize(const InitConfig& init, RngKey key, const Shape& shape,
                           std::int64_t fan_in, std::int64_t fan_out, std::span<float> out);

}  // namespace trivet
