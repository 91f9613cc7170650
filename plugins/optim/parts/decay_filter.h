// SPDX-License-Identifier: Apache-2.0
// Selects the parameters that weight decay applies to.
//
// As Model Garden's adamw: a name is the parameter's path, a pattern (ECMAScript regular
// expression) is searched anywhere in it; a path that matches an include pattern decays, else one
// that matches an exclude pattern does not, else it does. `decay_vectors = false` is Praxis'
// skip_lp_1d_vectors: parameters of less than two axes (biases, factors of norms) do not decay,
// unless included.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trivet/config/patterns.h"
#include "trivet/optimizer.h"

namespace trivet {
class Parameter;
}

namespace trivet::optim {

struct DecayConfig : OptimizerConfig {
  double weight_decay = 0;
  std::vector<std::string> include_in_weight_decay;
  std::vector<std::string> exclude_from_weight_decay;
  bool decay_vectors = true;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(DecayConfig, trivet::OptimizerConfig,
              (weight_decay, "Strength of weight decay; 0: none.", at_least(0), adjustable),
              (include_in_weight_decay,
               "Patterns of parameters that decay whatever the exclusions say.", adjustable),
              (exclude_from_weight_decay, "Patterns of parameters that do not decay.", adjustable),
              (decay_vectors, "Applies weight decay to parameters with fewer than two axes, too.",
               adjustable))

// Throws ConfigError at `field` for a pattern that matches the path of no variable, as
// trainer.frozen does.
void expect_found(const std::vector<std::string>& patterns, std::string_view field,
                  std::span<const Parameter* const> variables);

class DecayFilter {
 public:
  explicit DecayFilter(const DecayConfig& config);
  // Groups for Optimizer::group_of.
  enum Group : std::int64_t { kDecays = 0, kDoesNotDecay = 1 };
  Group group_of(const Parameter& parameter) const;
  // For Optimizer::check_variables: throws ConfigError for a pattern that matches no path.
  void check_variables(std::span<const Parameter* const> variables) const;

 private:
  std::vector<std::string> include_texts_, exclude_texts_;
  double weight_decay_;
  Patterns included_, excluded_;
  bool decay_vectors_;
};

}  // namespace trivet::optim
