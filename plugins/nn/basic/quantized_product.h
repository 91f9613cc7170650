// SPDX-License-Identifier: Apache-2.0
// The two operands of a product of weights with inputs that an `input_quantization` quantizes.
#pragma once

#include <string>
#include <string_view>

#include "trivet/layer.h"

namespace trivet::nn {

struct Operands {
  Tensor x, w;
  // If they are defined, x and w are integers and these are their scales: the product is
  // x_scale w_scale (x w). It is that of an int8 product with int32 sums as long as all sums of
  // integers are below 2^24, where f32 stops being exact.
  Tensor x_scale, w_scale;

  bool are_integers() const { return x_scale.defined(); }
  // y times the scales.
  Tensor scaled(const Tensor& y) const;
};

// x as `input_quantization` makes it, and the weights as `parametrization` makes them; both can be
// null. Integers if both layers have them. Throws Error, naming the layer around them, if a layer
// changes the shape.
Operands operands_of(const Tensor& x, Layer* input_quantization, const Parameter& weight,
                     Layer* parametrization, FpropContext& context, std::string_view type,
                     const std::string& path);

}  // namespace trivet::nn
