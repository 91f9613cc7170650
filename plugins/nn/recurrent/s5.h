// SPDX-License-Identifier: Apache-2.0
// S5: one diagonal state space model for all channels together (Smith et al. 2023, "Simplified
// State Space Layers for Sequence Modeling"), x [B, T, input_dims] -> y of the same shape. The
// state is state_dims complex numbers h, which start at 0:
//
//   h_t = abar h_(t-1) + (abar - 1) / a (B x_t),  y_t = Re(C^T h_t) + d x_t,  abar =
//   exp(step_size a)
//
// a, which is constant, the step, segments, padding and decoding are as in ssm.h. Parameters
// "b_re", "b_im", normal with variance 1 / input_dims, "c_re", "c_im", normal with variance 1 /
// state_dims, all [state_dims, input_dims], and "d" [input_dims], ones. (Praxis' S5 has B, but uses
// a matrix of ones instead.)
#pragma once

#include <complex>
#include <string>
#include <vector>

#include "nn/recurrent/ssm.h"

namespace trivet::nn {

struct S5Config : SsmConfig {};
TRIVET_CONFIG(S5Config, trivet::nn::SsmConfig)

class S5 final : public DecodingLayer {
 public:
  using Config = S5Config;
  S5(const Config& config, Scope& scope);
  Tensor fprop(const Tensor& x, FpropContext& context) override;
  std::unique_ptr<LayerCache> make_cache(std::int64_t batch,
                                         std::int64_t max_length) const override;
  Tensor extend_step(const Tensor& x, LayerCache& cache, FpropContext& context) override;

 private:
  struct Complex;
  struct Cache;
  struct Chunk;
  // Reads the positions of x, which follow those of `past`.
  Tensor run(const Tensor& x, const FpropContext& context, Cache& past) const;
  Complex inputs(const Tensor& x) const;  // [B, T, state_dims]
  Chunk chunk_of(std::int64_t length) const;

  std::string path_;
  std::int64_t input_dims_, state_dims_;
  std::vector<std::complex<double>> abar_, bbar_;
  Parameter &b_re_, &b_im_, &c_re_, &c_im_, &d_;
};

}  // namespace trivet::nn
