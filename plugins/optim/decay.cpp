// SPDX-License-Identifier: Apache-2.0
#include "decay.h"

#include "trivet/scope.h"

namespace trivet::optim {

void DecayConfig::validate(Problems& problems) const {
  check_patterns(problems, "include_in_weight_decay", include_in_weight_decay);
  check_patterns(problems, "exclude_from_weight_decay", exclude_from_weight_decay);
}

DecayFilter::DecayFilter(const DecayConfig& config)
    : weight_decay_(config.weight_decay),
      included_(config.include_in_weight_decay),
      excluded_(config.exclude_from_weight_decay),
      decay_vectors_(config.decay_vectors) {}

DecayFilter::Group DecayFilter::group_of(const Parameter& parameter) const {
  if (weight_decay_ == 0) return kDecays;  // all alike: one segment
  if (included_.found_in(parameter.path())) return kDecays;
  const bool left_out =
      excluded_.found_in(parameter.path()) || (!decay_vectors_ && parameter.shape().rank() < 2);
  return left_out ? kDoesNotDecay : kDecays;
}

}  // namespace trivet::optim
