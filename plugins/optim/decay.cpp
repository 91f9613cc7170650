// SPDX-License-Identifier: Apache-2.0
#include "decay.h"

#include <algorithm>

#include "trivet/scope.h"

namespace trivet::optim {
namespace {

void check_patterns(Problems& problems, std::string_view field,
                    const std::vector<std::string>& patterns) {
  for (const std::string& pattern : patterns) {
    try {
      std::regex compiled(pattern);
    } catch (const std::regex_error& error) {
      problems.add(field,
                   "'" + pattern + "' is not a regular expression: " + std::string(error.what()));
    }
  }
}

std::vector<std::regex> compiled(const std::vector<std::string>& patterns) {
  return {patterns.begin(), patterns.end()};
}

bool any_matches(const std::vector<std::regex>& patterns, const std::string& path) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::regex& pattern) { return std::regex_search(path, pattern); });
}

}  // namespace

void DecayConfig::validate(Problems& problems) const {
  check_patterns(problems, "include_in_weight_decay", include_in_weight_decay);
  check_patterns(problems, "exclude_from_weight_decay", exclude_from_weight_decay);
}

DecayFilter::DecayFilter(const DecayConfig& config)
    : weight_decay_(config.weight_decay),
      included_(compiled(config.include_in_weight_decay)),
      excluded_(compiled(config.exclude_from_weight_decay)),
      decay_vectors_(config.decay_vectors) {}

DecayFilter::Group DecayFilter::group_of(const Parameter& parameter) const {
  if (weight_decay_ == 0) return kDecays;  // all alike: one segment
  if (any_matches(included_, parameter.path())) return kDecays;
  const bool left_out =
      any_matches(excluded_, parameter.path()) || (!decay_vectors_ && parameter.shape().rank() < 2);
  return left_out ? kDoesNotDecay : kDecays;
}

}  // namespace trivet::optim
