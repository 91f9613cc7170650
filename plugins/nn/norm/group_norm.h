// SPDX-License-Identifier: Apache-2.0
// GroupNorm (Wu and He 2018): the channels of an example are cut into num_groups groups of
// neighbors, and each group is normalized over its channels and all positions,
//
//   y = (x - mean) / sqrt(variance + epsilon) * scale + bias
//
// with the biased variance. x [B, .., dim], e.g. images [B, H, W, C]; no example depends on
// another. Where the context has paddings [B, T] and x is [B, T, .., dim], padded positions do not
// count and become 0, as in Praxis.
//
// With `cumulative`, x is [B, T, .., dim], and position t is normalized by the positions up to t.
// n_s is the number of elements of a group in the positions up to s:
//
//   mean_t = sum_{s <= t} sum(x_s) / n_t,  variance_t = sum_{s <= t} sum((x_s - mean_s)^2) / n_t
//
// Each position keeps the distance from its own mean, as in Praxis, so this is not the variance of
// the positions up to t. Statistics start again with each segment of a packed row, where Praxis
// knows no segments. The layer then decodes with a cache (trivet/layer/extend_step.h).
//
// Parameters "scale" [dim], starting at 1, and "bias" [dim], at 0. Groups and epsilon are Praxis'.
#pragma once

#include <string>

#include "trivet/layer.h"
#include "trivet/layer/extend_step.h"

namespace trivet::nn {

struct GroupNormConfig : LayerConfig {
  std::int64_t dim = 0;
  std::int64_t num_groups = 32;
  double epsilon = 1e-3;
  bool cumulative = false;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(GroupNormConfig, trivet::LayerConfig,
              (dim, "Depth of the input; 0 in a template: what the layer around it says.",
               at_least(0)),
              (num_groups, "Groups of channels; they divide dim.", at_least(1)),
              (epsilon, "Constant added to the variance.", more_than(0)),
              (cumulative,
               "Normalizes a position by itself and the positions before it, for causal models."))

class GroupNorm final : public Layer, public ExtendStep {
 public:
  using Config = GroupNormConfig;
  GroupNorm(const Config& config, Scope& scope);
  Tensor fprop(const Tensor& x, FpropContext& context) override;
  // An ExtendStep with `cumulative`.
  const void* extension(std::string_view id) const noexcept override;
  std::unique_ptr<LayerCache> make_cache(std::int64_t batch,
                                         std::int64_t max_length) const override;
  Tensor extend_step(const Tensor& x, LayerCache& cache, FpropContext& context) override;

 private:
  struct Cache;
  Tensor normalized(const Tensor& x) const;  // over all positions
  // Over the positions where `counted` [B, T, 1, 1, 1] is 1.
  Tensor normalized_over(const Tensor& x, const Tensor& counted) const;
  // Over the positions of x so far, which follow those of `past`.
  Tensor normalized_so_far(const Tensor& x, const FpropContext& context, Cache& past) const;
  Tensor scaled(const Tensor& x) const;

  std::string path_;
  std::int64_t dim_, groups_;
  float epsilon_;
  bool cumulative_;
  Parameter &scale_, &bias_;
};

}  // namespace trivet::nn
