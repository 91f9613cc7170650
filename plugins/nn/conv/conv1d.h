// SPDX-License-Identifier: Apache-2.0
// Conv1d: convolution over the positions of sequences, x [B, T, input_dims] -> [B, T, output_dims].
//
//   y_t = activation(sum_k x_(t + (k - offset) dilation) w_k + b)
//
// with offset = kernel - 1 if it is causal, else (kernel - 1) / 2; positions outside the sequence,
// and padding (the context's paddings), count as 0. Segments of packed rows see each other.
// Parameters "w" [kernel, input_dims, output_dims], xavier_uniform unless set, and "b"
// [output_dims]. Causal convolutions decode with a cache (trivet/layer/extend_step.h).
#pragma once

#include <optional>
#include <string>

#include "trivet/layer.h"
#include "trivet/layer/extend_step.h"
#include "trivet/ops.h"

namespace trivet::nn {

struct Conv1dConfig : LayerConfig {
  std::int64_t input_dims = 0;
  std::int64_t output_dims = 0;
  std::int64_t kernel = 3;
  std::int64_t dilation = 1;
  bool causal = false;
  bool has_bias = true;
  ConfigOf<Layer> activation;
  InitConfig init;
};
TRIVET_CONFIG(Conv1dConfig, trivet::LayerConfig,
              (input_dims, "Depth of the input.", required, at_least(1)),
              (output_dims, "Depth of the output.", required, at_least(1)),
              (kernel, "Number of positions that one output position reads.", between(1, 1000000)),
              (dilation, "Distance between neighboring taps of the kernel.", between(1, 1000000)),
              (causal, "Causal convolution: a position sees itself and earlier positions only."),
              (has_bias, "Adds a bias vector."), (activation, "Activation of the output."),
              (init, "Initializer of the weights. Default: xavier_uniform."))

class Conv1d final : public DecodingLayer {
 public:
  using Config = Conv1dConfig;
  Conv1d(const Config& config, Scope& scope);
  Tensor fprop(const Tensor& x, FpropContext& context) override;
  std::unique_ptr<LayerCache> make_cache(std::int64_t batch,
                                         std::int64_t max_length) const override;
  Tensor extend_step(const Tensor& x, LayerCache& cache, FpropContext& context) override;

 private:
  struct Cache;
  Tensor counted(const Tensor& x, const FpropContext& context) const;
  // Convolves without padding: [B, before + T, input_dims] -> [B, T, output_dims].
  Tensor convolved(const Tensor& x, FpropContext& context) const;

  std::string path_;
  std::int64_t before_, after_;  // zero positions before and after
  std::int64_t dilation_;
  bool causal_;
  Parameter& weight_;
  Parameter* bias_;
  std::shared_ptr<Layer> activation_;
  std::optional<Activation> fused_;
};

}  // namespace trivet::nn
