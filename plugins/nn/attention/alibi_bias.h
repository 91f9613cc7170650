// SPDX-License-Identifier: Apache-2.0
// AlibiBias: attention with linear biases (Press et al. 2022): scores decrease with the distance,
// in each head at its own slope. For the field relative_bias of attention. In: distances key -
// query, i32 [B or 1, Tq, Tkv]; out: f32 [B or 1, num_heads, Tq, Tkv],
//
//   -slope_h |key - query|.
//
// For n heads, a power of two, slope_h = 2^(-8 (h + 1) / n), h = 0 .. n - 1. For other n: the
// slopes of the largest power of two p below n, then every other slope of 2 p heads from the first
// on. Nothing is learned.
#pragma once

#include <string>
#include <vector>

#include "trivet/layer.h"

namespace trivet::nn {

struct AlibiBiasConfig : LayerConfig {
  std::int64_t num_heads = 0;
};
TRIVET_CONFIG(AlibiBiasConfig, trivet::LayerConfig,
              (num_heads, "Heads; 0 in a template: those of the attention around it.", at_least(0)))

class AlibiBias final : public Layer {
 public:
  using Config = AlibiBiasConfig;
  AlibiBias(const Config& config, Scope& scope);
  Tensor fprop(const Tensor& distances, FpropContext& context) override;

 private:
  std::string path_;
  std::vector<float> slopes_;
};

}  // namespace trivet::nn
