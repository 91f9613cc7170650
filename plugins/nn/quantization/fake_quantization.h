// SPDX-License-Identifier: Apache-2.0
// FakeQuantization: quantization-aware training (Jacob et al. 2018), as the `parametrization` of
// nn/Linear and nn/Conv2d. Weights w [.., out] -> the same shape, with the values that integers of
// `bits` bits would give (quantizer.h), with a scale for each column of the last axis, by default
//
//   scale = max |w| / (2^(bits - 1) - 1),  w' = scale floor(w / scale + 1/2)
//
// With block_size, each column is cut into blocks of so many weights that follow one another, with
// a scale for each (sub-channels of Praxis). With num_optimize_clipping, clipping_coeff is the one
// of so many numbers from 1 to min_clipping that has the least sum |w - w'|, over all weights or,
// with optimize_clipping_per_channel, over each scale's.
//
// With vn_scale, training adds noise instead of rounding (FQ_VN of Praxis):
//
//   w' = w + vn_scale max |w| noise,  noise uniform in [-1/2, 1/2) or normal
//
// with the maximum of each column; before vn_start_step there is none, w' = w. Evaluations round.
//
// Unlike in Praxis, stop_scale_gradient is true unless set, ties are rounded up, and a block_size
// that does not divide the rows is an error.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nn/quantization/quantizer.h"

namespace trivet::nn {

enum class VariationalNoise { uniform, normal };
TRIVET_ENUM(VariationalNoise, uniform, normal)

struct FakeQuantizationConfig : QuantizationConfig {
  std::int64_t block_size = 0;
  std::int64_t num_optimize_clipping = 0;
  double min_clipping = 0.5;
  bool optimize_clipping_per_channel = false;
  double vn_scale = 0;
  std::int64_t vn_start_step = 0;
  VariationalNoise vn_noise_type = VariationalNoise::uniform;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(
    FakeQuantizationConfig, QuantizationConfig,
    (block_size, "Weights of a column that have a scale of their own; 0: all of the column.",
     at_least(0)),
    (num_optimize_clipping,
     "Number of clipping coefficients to try, from 1 to min_clipping. 0: clipping_coeff is used.",
     at_least(0)),
    (min_clipping, "Smallest clipping coefficient that num_optimize_clipping tries.", more_than(0),
     less_than(1)),
    (optimize_clipping_per_channel, "Chooses a clipping coefficient for each scale."),
    (vn_scale, "Noise in training instead of rounding, as a share of the range; 0: rounding.",
     at_least(0), adjustable),
    (vn_start_step, "Step of the first noise.", at_least(0), adjustable),
    (vn_noise_type, "Distribution of the noise."))

class FakeQuantization final : public Layer, public QuantizingLayer {
 public:
  using Config = FakeQuantizationConfig;
  FakeQuantization(const Config& config, Scope& scope);
  Tensor fprop(const Tensor& w, FpropContext& context) override;
  std::optional<Quantized> factored(const Tensor& w, FpropContext& context) override;
  const void* extension(std::string_view id) const noexcept override;

 private:
  Tensor blocks(const Tensor& w) const;
  Tensor best_clipping(const Tensor& w) const;
  Tensor noisy(const Tensor& w, const FpropContext& context) const;
  bool adds_noise(const FpropContext& context) const {
    return context.train && noise_.vn_scale > 0;
  }

  std::string path_;
  Quantizer quantizer_;
  std::int64_t block_size_;
  std::vector<float> candidates_;  // clipping coefficients; empty if none is searched
  bool per_channel_;
  Config noise_;
};

}  // namespace trivet::nn
