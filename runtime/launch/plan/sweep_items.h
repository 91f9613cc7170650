// SPDX-License-Identifier: Apache-2.0
//
// The items of an experiment's sweep.
#pragma once

#include <string>
#include <vector>

#include "config/resolver.h"
#include "trivet/launch/sweep_info.h"

namespace trivet {

struct SweepItems {
  std::vector<SweepItem> items;  // one without members when nothing is swept
  std::vector<std::string> tags;
};

// Whether an item changes the run's config.
bool vary_config(const std::vector<SweepItem>& items);

// A sweep that is given in full is run unless xp.sweep is false, one of named sweeps if xp.sweep
// names them. `further` is PATH=V1,V2 from the command line, each one more dimension. Throws
// ConfigError for a sweep that is asked for and not there, one without items, and arguments that
// are both swept and set on the command line.
SweepItems sweep_items(const ResolvedLaunch& launch, const std::vector<std::string>& further);

// Throws ConfigError for a value of the run's config that items change and the command line sets:
// it would have no effect.
void refuse_conflicts(const ResolvedLaunch& launch, const std::vector<SweepItem>& items);

}  // namespace trivet
