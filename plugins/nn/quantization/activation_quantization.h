// SPDX-License-Identifier: Apache-2.0
// ActivationQuantization: the `input_quantization` of nn/Linear and nn/Conv2d. Numbers x [.., D] ->
// the same shape, with the values that integers of `bits` bits would give (quantizer.h), with a
// scale for each row of the last axis (per_channel), or one for the whole tensor. The scales are
// those of the batch at hand, also in evaluations: there are no statistics of a calibration, as in
// Praxis. A scale of the whole tensor depends on the other rows and on padding, so layers with it
// do not decode with a cache.
#pragma once

#include <optional>

#include "nn/quantization/quantizer.h"

namespace trivet::nn {

struct ActivationQuantizationConfig : QuantizationConfig {
  bool per_channel = true;
};
TRIVET_CONFIG(ActivationQuantizationConfig, QuantizationConfig,
              (per_channel, "A scale for each row; false: one for the whole tensor."))

class ActivationQuantization final : public Layer, public QuantizingLayer {
 public:
  using Config = ActivationQuantizationConfig;
  ActivationQuantization(const Config& config, Scope& scope);
  Tensor fprop(const Tensor& x, FpropContext& context) override;
  // The scale is [.., 1] of x, or [1].
  std::optional<Quantized> factored(const Tensor& x, FpropContext& context) override;
  const void* extension(std::string_view id) const noexcept override;

 private:
  Tensor groups(const Tensor& x) const;

  Quantizer quantizer_;
  bool per_row_;
};

}  // namespace trivet::nn
