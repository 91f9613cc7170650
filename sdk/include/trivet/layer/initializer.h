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
// before them. Truncated ones are cut at two stddevs, and not rescaled.
enum class Init {
  layer_default,             // whatever the layer says is its default
  constant,                  // scale
  uniform,                   // [-scale, scale)
  uniform_positive,          // [0, scale)
  normal,                    // stddev scale
  truncated_normal,          // stddev scale
  xavier_uniform,            // scale * sqrt(6 / (fan_in + fan_out)), Glorot and Bengio 2010
  xavier_normal,             // scale * sqrt(2 / (fan_in + fan_out))
  he_uniform,                // scale * sqrt(6 / fan_in), He et al. 2015
  he_normal,                 // scale * sqrt(2 / fan_in)
  lecun_uniform,             // scale * sqrt(3 / fan_in)
  lecun_normal,              // scale * sqrt(1 / fan_in)
  fan_in_uniform,            // scale / sqrt(fan_in): what PyTorch's Linear and Conv2d start with
  fan_in_truncated_normal,   // stddev scale / sqrt(fan_in)
  fan_out_uniform,           // scale / sqrt(fan_out)
  fan_out_normal,            // scale / sqrt(fan_out)
  fan_out_truncated_normal,  // stddev scale / sqrt(fan_out)
  orthogonal,  // scale * a matrix of fan_in rows with orthonormal columns, or rows if these are
               // fewer, equally likely each; Saxe et al. 2013
  delta_orthogonal,  // such a matrix in the center of filters, 0 elsewhere; Xiao et al. 2018
};
TRIVET_ENUM(Init, layer_default, constant, uniform, uniform_positive, normal, truncated_normal,
            xavier_uniform, xavier_normal, he_uniform, he_normal, lecun_uniform, lecun_normal,
            fan_in_uniform, fan_in_truncated_normal, fan_out_uniform, fan_out_normal,
            fan_out_truncated_normal, orthogonal, delta_orthogonal)

struct InitConfig {
  Init method = Init::layer_default;
  double scale = 1.0;
};
TRIVET_CONFIG(InitConfig, trivet::NoBase, (method, "Distribution of the starting values."),
              (scale, "Factor, standard deviation, bound or value, as the method says."))

// Fills `out` with the starting values of `shape`, row-major, from element `first` on. `fan_in` and
// `fan_out` replace the counted ones where not 0: an orthogonal start makes several matrices then.
// Throws Error for a shape that holds none, for elements beyond the shape, and for a part of an
// orthogonal start. [any-thread]
TRIVET_API void initialize(const InitConfig& init, RngKey key, const Shape& shape,
                           std::int64_t fan_in, std::int64_t fan_out, std::span<float> out,
                           std::int64_t first = 0);

// Whether parts of the values may be drawn one by one.
TRIVET_API bool is_drawn_in_parts(Init method);

}  // namespace trivet
