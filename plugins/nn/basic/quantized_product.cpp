// SPDX-License-Identifier: Apache-2.0
#include "nn/basic/quantized_product.h"

#include "nn/basic/checks.h"
#include "nn/basic/parametrization.h"
#include "nn/quantization/quantizer.h"
#include "trivet/ops.h"

namespace trivet::nn {
namespace {

QuantizingLayer* quantizing(Layer* layer) {
  if (layer == nullptr) return nullptr;
  // The extension is the layer itself, which is const here for its `extension` only.
  return const_cast<QuantizingLayer*>(
      static_cast<const QuantizingLayer*>(layer->extension(kQuantizingLayer)));
}

}  // namespace

Tensor Operands::scaled(const Tensor& y) const {
  return ops::mul(ops::mul(y, x_scale), w_scale);
}

Operands operands_of(const Tensor& x, Layer* input_quantization, const Parameter& weight,
                     Layer* parametrization, FpropContext& context, std::string_view type,
                     const std::string& path) {
  QuantizingLayer* inputs = quantizing(input_quantization);
  QuantizingLayer* weights = quantizing(parametrization);
  if (inputs != nullptr && weights != nullptr) {
    const auto quantized_w = weights->factored(weight.value(), context);
    const auto quantized_x =
        quantized_w ? inputs->factored(x, context) : std::optional<Quantized>();
    if (quantized_x) {
      return {quantized_x->integers, quantized_w->integers, quantized_x->scale, quantized_w->scale};
    }
  }
  Tensor made = input_quantization != nullptr ? input_quantization->fprop(x, context) : x;
  if (made.shape() != x.shape()) {
    wrong_input(type, path, "inputs " + x.shape().to_string() + " of its input_quantization", made);
  }
  return {made, weights_of(weight, parametrization, context, type, path), {}, {}};
}

}  // namespace trivet::nn
