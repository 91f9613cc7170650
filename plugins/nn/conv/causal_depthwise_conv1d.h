// SPDX-License-Identifier: Apache-2.0
// CausalDepthwiseConv1d: convolves each feature with itself at earlier positions, as in Primer (So
// et al. 2021), x [B, T, dims] -> the same shape.
//
//   y_t = sum_k x_(t - k) w_k,  k = 0 .. kernel - 1
//
// Positions before the sequence count as 0. Where the context has positions, so do the positions
// t - k of a position below k: those of another segment, or padding at the left. Parameters "w_0",
// "w_1", ... [dims], which start at 0.5 for the position itself and 0.5 / kernel for earlier ones,
// as in Praxis. Decodes with a cache (trivet/layer/extend_step.h).
#pragma once

#include <string>
#include <vector>

#include "trivet/layer.h"
#include "trivet/layer/extend_step.h"

namespace trivet::nn {

struct CausalDepthwiseConv1dConfig : LayerConfig {
  std::int64_t dims = 0;
  std::int64_t kernel = 3;
};
TRIVET_CONFIG(CausalDepthwiseConv1dConfig, trivet::LayerConfig,
              (dims, "Depth of the input and of the output.", required, at_least(1)),
              (kernel, "Number of positions that one output position reads.", between(1, 10000)))

class CausalDepthwiseConv1d final : public DecodingLayer {
 public:
  using Config = CausalDepthwiseConv1dConfig;
  CausalDepthwiseConv1d(const Config& config, Scope& scope);
  Tensor fprop(const Tensor& x, FpropContext& context) override;
  std::unique_ptr<LayerCache> make_cache(std::int64_t batch,
                                         std::int64_t max_length) const override;
  Tensor extend_step(const Tensor& x, LayerCache& cache, FpropContext& context) override;

 private:
  struct Cache;
  // `all` has kernel - 1 positions before those of x.
  Tensor convolved(const Tensor& x, const Tensor& all, const FpropContext& context) const;
  Tensor with_zeros_before(const Tensor& x) const;

  std::string path_;
  std::int64_t dims_;
  std::vector<Parameter*> weights_;
};

}  // namespace trivet::nn
