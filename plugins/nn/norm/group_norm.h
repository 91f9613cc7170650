// SPDX-License-Identifier: Apache-2.0
// GroupNorm (Wu and He 2018): the channels of an example are cut into num_groups groups of
// neighbors, and each group is normalized over its channels and all positions,
//
//   y = (x - mean) / sqrt(variance + epsilon) * scale + bias
//
// with the biased variance. x [B, .., dim], e.g. images [B, H, W, C]; no example depends on
// another.
//
// Parameters "scale" [dim], starting at 1, and "bias" [dim], at 0. Groups and epsilon are Praxis'.
#pragma once

#include <string>

#include "trivet/layer.h"

namespace trivet::nn {

struct GroupNormConfig : LayerConfig {
  std::int64_t dim = 0;
  std::int64_t num_groups = 32;
  double epsilon = 1e-3;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(GroupNormConfig, trivet::LayerConfig,
              (dim, "Depth of the input; 0 in a template: what the layer around it says.",
               at_least(0)),
              (num_groups, "Groups of channels; they divide dim.", at_least(1)),
              (epsilon, "Constant added to the variance.", more_than(0)))

class GroupNorm final : public Layer {
 public:
  using Config = GroupNormConfig;
  GroupNorm(const Config& config, Scope& scope);
  Tensor fprop(const Tensor& x, FpropContext& context) override;

 private:
  std::string path_;
  std::int64_t dim_, groups_;
  float epsilon_;
  Parameter &scale_, &bias_;
};

}  // namespace trivet::nn
