// SPDX-License-Identifier: Apache-2.0
//
// Asks the orchestrators of experiments how those units are that only they know of.
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

// Looks at experiments, with records that are up to date where that is possible. An orchestrator
// that cannot be asked (its cluster does not answer) is told of on stderr, once, and what the
// records say is shown; others of its key are not asked then.
class ExperimentRefresher {
 public:
  // `plugin_dirs`: searched before those that are recorded.
  explicit ExperimentRefresher(std::vector<std::string> plugin_dirs = {})
      : plugin_dirs_(std::move(plugin_dirs)) {}

  // All experiments, without their units.
  std::vector<ExperimentView> all(ExperimentIndex& index);
  // Throws UsageError for a number that is not there.
  ExperimentView view(ExperimentIndex& index, const ExperimentId& id);
  // The same for somebody who looks all the time: an orchestrator is asked every ten seconds.
  ExperimentView view_again(ExperimentIndex& index, const ExperimentId& id);

 private:
  // False when there was nothing to be asked.
  bool refresh(const ExperimentView& view);

  std::vector<std::string> plugin_dirs_;
  std::map<std::string, std::string> silent_;  // why, by key of the orchestrator
  std::optional<std::chrono::steady_clock::time_point> asked_at_;
};

}  // namespace trivet
