// SPDX-License-Identifier: Apache-2.0
// Ssm: a diagonal state space model for each channel (S4D: Gu et al. 2022, "On the
// Parameterization and Initialization of Diagonal State Space Models"), x [B, T, input_dims] -> y
// of the same shape. Channel c has state_dims complex numbers h that start at 0:
//
//   h_t = abar h_(t-1) + bbar x_t,  y_t = Re(sum_n C_nc h_t) + d_c x_t
//   abar = exp(step_size a),        bbar = (abar - 1) / a   (zero-order hold of dh/dt = a h + x)
//
// a is constant (hippo.h: hippo_type), as is the step, and both are those of all channels, as in
// Praxis' SSM. Parameters "c_re", "c_im" [state_dims, input_dims], normal with variance 1/2, and
// "d" [input_dims], ones.
//
// Positions are computed in chunks: inside a chunk as a causal convolution with the kernel
// Re(sum_n C_n abar^l bbar), between chunks by the state, so the work grows with T. In packed rows
// (segment_ids of the context; 0 is padding) the state starts again at 0 with each segment; they
// are read position by position. Padding counts as zeros. The layer is causal and decodes with a
// cache (trivet/layer/extend_step.h), which is the state:
//
//   block_tpl = { type = "nn/TransformerBlock", attention_tpl = "nn/Ssm" }
#pragma once

#include <complex>
#include <string>
#include <vector>

#include "nn/recurrent/hippo.h"
#include "trivet/layer.h"
#include "trivet/layer/extend_step.h"

namespace trivet::nn {

struct SsmConfig : LayerConfig {
  std::int64_t input_dims = 0;
  std::int64_t state_dims = 64;
  double step_size = 0.01;
  HippoType hippo_type = HippoType::linear;
  bool causal = true;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(SsmConfig, trivet::LayerConfig,
              (input_dims, "Depth of the input; 0 in a template: as the layer around it.",
               at_least(0)),
              (state_dims, "Complex numbers in the state of each channel.", between(1, 256)),
              (step_size, "Time between two positions.", more_than(0)),
              (hippo_type, "Where the state's eigenvalues are."),
              (causal, "Sees earlier positions alone. There is no other form."))

class Ssm final : public DecodingLayer {
 public:
  using Config = SsmConfig;
  Ssm(const Config& config, Scope& scope);
  Tensor fprop(const Tensor& x, FpropContext& context) override;
  std::unique_ptr<LayerCache> make_cache(std::int64_t batch,
                                         std::int64_t max_length) const override;
  Tensor extend_step(const Tensor& x, LayerCache& cache, FpropContext& context) override;

 private:
  struct Cache;
  struct Chunk;
  // Reads the positions of x, which follow those of `past`.
  Tensor run(const Tensor& x, const FpropContext& context, Cache& past) const;
  Chunk chunk_of(std::int64_t length) const;

  std::string path_;
  std::int64_t input_dims_, state_dims_;
  std::vector<std::complex<double>> abar_, bbar_;
  Parameter &c_re_, &c_im_, &d_;
};

}  // namespace trivet::nn
