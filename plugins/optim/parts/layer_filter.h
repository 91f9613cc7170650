// SPDX-License-Identifier: Apache-2.0
// Shared by LAMB and LARS: a learning rate per variable, by the ratio of two norms.
//
// The norms never leave the device. Patterns exclude variables from weight decay and from
// adaptation. As in Model Garden, variables excluded from decay are excluded from adaptation unless
// adaptation has its own list.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "optim/parts/decay_filter.h"

namespace trivet::optim {

struct LayerAdaptationConfig : DecayConfig {
  std::optional<std::vector<std::string>> exclude_from_layer_adaptation;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(LayerAdaptationConfig, trivet::optim::DecayConfig,
              (exclude_from_layer_adaptation,
               "Patterns of parameters whose learning rate is not adapted; not set: those of "
               "exclude_from_weight_decay.",
               adjustable))

class LayerFilter {
 public:
  explicit LayerFilter(const LayerAdaptationConfig& config);
  // For Optimizer::group_of, with the meaning of the groups.
  std::int64_t group_of(const Parameter& parameter) const;
  // For Optimizer::check_variables, as DecayFilter's.
  void check_variables(std::span<const Parameter* const> variables) const;
  static bool decays(std::int64_t group) { return (group & kNoDecay) == 0; }
  static bool adapts(std::int64_t group) { return (group & kNoAdaptation) == 0; }

 private:
  static constexpr std::int64_t kNoDecay = 1, kNoAdaptation = 2;
  DecayFilter decay_;
  std::vector<std::string> not_adapted_texts_;
  Patterns not_adapted_;
};

// coefficient |a| / |b| as f32 [1]; 1 if one of the norms is 0. Both flat.
Tensor trust_ratio(const Tensor& a, const Tensor& b, double coefficient);

}  // namespace trivet::optim
