// SPDX-License-Identifier: Apache-2.0
#include "optim/parts/decay_filter.h"

#include <algorithm>

#include "trivet/error.h"
#include "trivet/layer/parameter_store.h"

namespace trivet::optim {

void DecayConfig::validate(Diagnostics& diagnostics) const {
  check_patterns(diagnostics, "include_in_weight_decay", include_in_weight_decay);
  check_patterns(diagnostics, "exclude_from_weight_decay", exclude_from_weight_decay);
}

void expect_found(const std::vector<std::string>& patterns, std::string_view field,
                  std::span<const Parameter* const> variables) {
  for (const std::string& text : patterns) {
    const Patterns pattern({text});
    const bool found =
        std::any_of(variables.begin(), variables.end(),
                    [&](const Parameter* variable) { return pattern.found_in(variable->path()); });
    if (found) continue;
    std::vector<std::string> paths;
    for (const Parameter* variable : variables) paths.push_back(variable->path());
    throw ConfigError(Diagnostic{.path = std::string(field),
                                 .what = "'" + text + "' matches the path of no variable",
                                 .hint = suggestion(text, paths)});
  }
}

DecayFilter::DecayFilter(const DecayConfig& config)
    : include_texts_(config.include_in_weight_decay),
      exclude_texts_(config.exclude_from_weight_decay),
      weight_decay_(config.weight_decay),
      included_(config.include_in_weight_decay),
      excluded_(config.exclude_from_weight_decay),
      decay_vectors_(config.decay_vectors) {}

void DecayFilter::check_variables(std::span<const Parameter* const> variables) const {
  expect_found(include_texts_, "include_in_weight_decay", variables);
  expect_found(exclude_texts_, "exclude_from_weight_decay", variables);
}

DecayFilter::Group DecayFilter::group_of(const Parameter& parameter) const {
  if (weight_decay_ == 0) return kDecays;  // all equal: one segment
  if (included_.found_in(parameter.path())) return kDecays;
  const bool left_out =
      excluded_.found_in(parameter.path()) || (!decay_vectors_ && parameter.shape().rank() < 2);
  return left_out ? kDoesNotDecay : kDecays;
}

}  // namespace trivet::optim
