// SPDX-License-Identifier: Apache-2.0
// Queries the orchestrators of experiments for the states of units that only they know.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "launch/index/experiment_index.h"
#include "launch/store/experiment_id.h"

namespace trivet {

// Reads experiments and updates their records where possible. If an orchestrator cannot be queried
// (its cluster does not answer), prints a warning to stderr once and uses the recorded states.
// Other orchestrators of the same key are then not queried.
class ExperimentRefresher {
 public:
  // `plugin_dirs` are searched before the recorded folders.
  explicit ExperimentRefresher(std::vector<std::string> plugin_dirs = {})
      : plugin_dirs_(std::move(plugin_dirs)) {}

  // All experiments, without their units.
  std::vector<ExperimentView> all(ExperimentIndex& index);
  // Throws UsageError if the experiment does not exist.
  ExperimentView view(ExperimentIndex& index, const ExperimentId& id);
  // The same for a caller that polls: an orchestrator is queried at most every ten seconds.
  ExperimentView view_again(ExperimentIndex& index, const ExperimentId& id);

 private:
  // Returns false if there was nothing to query.
  bool refresh(const ExperimentView& view);

  std::vector<std::string> plugin_dirs_;
  std::map<std::string, std::string> silent_;  // the error, by key of the orchestrator
  std::optional<std::chrono::steady_clock::time_point> asked_at_;
};

}  // namespace trivet
