// SPDX-License-Identifier: Apache-2.0
// RequestedSweep: what a launch asked to be swept. experiment.json keeps those of all launches of
// the experiment, so that a launch from its launch.toml finds every unit.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "config/resolver.h"
#include "trivet/config/value.h"

namespace trivet {

struct RequestedSweep {
  Value choice;                      // its xp.sweep; null: not set
  std::vector<std::string> options;  // PATH=V1,V2 and so on, from --sweep
  bool operator==(const RequestedSweep&) const = default;
};

// The list in experiment.json.
Value sweeps_value(const std::vector<RequestedSweep>& sweeps);

// Those of the experiment in this directory, in the order of its launches; none if it has no
// record.
std::vector<RequestedSweep> recorded_sweeps(const std::filesystem::path& directory);

// Those of the experiments from whose launch.toml the request starts.
std::vector<RequestedSweep> recorded_sweeps(const ConfigRequest& request);

}  // namespace trivet
