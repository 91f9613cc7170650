// SPDX-License-Identifier: Apache-2.0
// FourierMixing: mixes positions without weights, instead of attention (Lee-Thorp et al. 2021,
// "FNet", equation 3), x [B, T, D] -> the same shape:
//
//   y = Re(F_T x F_D),   F_n[j, k] = exp(-2 pi i j k / n)
//
// the discrete Fourier transforms over the positions and over the features, not normalized; or,
// with transform = "hartley", their Re - Im (Lee-Thorp and Ainslie 2022, "Sparse Mixers"). They are
// products with the matrices of cosines and sines, of T D (T + D) multiplications each.
//
//   block_tpl = { type = "nn/TransformerBlock", attention_tpl = "nn/FourierMixing" }
//
// Every position sees all others, padding included, as in the paper and Model Garden's fnet. Throws
// UsageError for packed rows, whose texts it would mix.
#pragma once

#include <cstdint>
#include <string>

#include "trivet/layer.h"

namespace trivet::nn {

enum class MixingTransform { fourier, hartley };
TRIVET_ENUM(MixingTransform, fourier, hartley)

struct FourierMixingConfig : LayerConfig {
  std::int64_t input_dims = 0;
  MixingTransform transform = MixingTransform::fourier;
};
TRIVET_CONFIG(FourierMixingConfig, trivet::LayerConfig,
              (input_dims, "Depth of the input; 0 in a template: as the layer around it.",
               at_least(0)),
              (transform, "fourier: the real part; hartley: less the imaginary part."))

class FourierMixing final : public Layer {
 public:
  using Config = FourierMixingConfig;
  FourierMixing(const Config& config, Scope& scope);
  Tensor fprop(const Tensor& x, FpropContext& context) override;

 private:
  std::string path_;
  std::int64_t input_dims_;
  MixingTransform transform_;
};

}  // namespace trivet::nn
