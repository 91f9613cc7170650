// SPDX-License-Identifier: Apache-2.0
// The items of an experiment's sweep.
#pragma once

#include <string>
#include <vector>

#include "config/resolver.h"
#include "launch/store/requested_sweep.h"
#include "trivet/launch/sweep_info.h"

namespace trivet {

struct SweepItems {
  std::vector<launch::SweepItem> items;  // one without members if nothing is swept
  std::vector<std::string> tags;
};

// Whether an item changes the run's config.
bool vary_config(const std::vector<launch::SweepItem>& items);

// A sweep that is given in full runs unless xp.sweep is false; named sweeps run if xp.sweep names
// them. Each option adds a dimension. Throws ConfigError for a missing sweep, an empty sweep, and
// arguments that are both swept and set on the command line.
SweepItems sweep_items(const ResolvedLaunch& launch, const RequestedSweep& requested);

// The items of several launches; those that an earlier one has, too, are left out.
SweepItems sweep_items(const ResolvedLaunch& launch, const std::vector<RequestedSweep>& requested);

// Throws ConfigError for a value of the run's config that items change and the command line sets:
// it would have no effect.
void refuse_conflicts(const ResolvedLaunch& launch, const std::vector<launch::SweepItem>& items);

}  // namespace trivet
