// SPDX-License-Identifier: Apache-2.0
#include "optim/schedules/sequence.h"

#include <algorithm>
#include <string>

#include "optim/schedules/schedules.h"
#include "trivet/plugin/registry.h"

namespace trivet::optim {

void SequenceConfig::validate(Diagnostics& diagnostics) const {
  if (schedules.empty()) diagnostics.add("schedules", "is empty");
  if (!schedules.empty() && boundaries.size() + 1 != schedules.size()) {
    diagnostics.add("boundaries", "has " + std::to_string(boundaries.size()) + " steps for " +
                                      std::to_string(schedules.size()) +
                                      " schedules: one less than there are schedules is right");
  }
  check_rising(boundaries, diagnostics);
  if (cycle_steps && !boundaries.empty() && *cycle_steps <= boundaries.back()) {
    diagnostics.add("cycle_steps",
                    "must be more than the last boundary, " + std::to_string(boundaries.back()));
  }
}

Sequence::Sequence(const Config& config)
    : boundaries_(config.boundaries),
      count_from_(config.count_from),
      cycle_steps_(config.cycle_steps) {
  for (const ConfigOf<Schedule>& schedule : config.schedules) schedules_.push_back(make(schedule));
}

double Sequence::value(std::int64_t step) const {
  const std::int64_t in_cycle = cycle_steps_ ? step % *cycle_steps_ : step;
  const auto next = std::ranges::upper_bound(boundaries_, in_cycle);
  const auto index = static_cast<std::size_t>(next - boundaries_.begin());
  if (count_from_ == CountFrom::start) return schedules_[index]->value(step);
  return schedules_[index]->value(in_cycle - (index == 0 ? 0 : boundaries_[index - 1]));
}

}  // namespace trivet::optim
