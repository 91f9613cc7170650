// SPDX-License-Identifier: Apache-2.0
#include "cli/experiment_refresher.h"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "base/terminal.h"
#include "cli/experiment_command.h"
#include "cli/host_catalog.h"
#include "cli/view/error_report.h"
#include "launch/control/launched_experiment.h"
#include "trivet/error.h"

namespace trivet {
namespace {

constexpr std::chrono::seconds kAskEvery{10};

std::vector<std::int64_t> open_units(const ExperimentView& view) {
  std::vector<std::int64_t> wids;
  for (const UnitView& unit : view.units) {
    const bool is_open = std::any_of(unit.jobs.begin(), unit.jobs.end(), [](const auto& job) {
      return !launch::is_final(job.status.state);
    });
    if (is_open) wids.push_back(unit.wid);
  }
  return wids;
}

}  // namespace

std::vector<ExperimentView> ExperimentRefresher::all(ExperimentIndex& index) {
  std::vector<ExperimentView> views = index.experiments();
  bool any = false;
  for (const ExperimentView& view : views) {
    const bool is_open = std::any_of(view.counts.begin(), view.counts.end(), [](const auto& entry) {
      return !launch::is_final(entry.first);
    });
    if (is_open && !view.supervised) any = refresh(index.experiment(view.xid)) || any;
  }
  return any ? index.experiments() : views;
}

ExperimentView ExperimentRefresher::view(ExperimentIndex& index, const ExperimentId& id) {
  ExperimentView view = index.experiment(id.xid, id.wid);
  return refresh(view) ? index.experiment(id.xid, id.wid) : view;
}

ExperimentView ExperimentRefresher::view_again(ExperimentIndex& index, const ExperimentId& id) {
  const auto now = std::chrono::steady_clock::now();
  if (asked_at_ && now < *asked_at_ + kAskEvery) return index.experiment(id.xid, id.wid);
  asked_at_ = now;
  silent_.clear();
  return view(index, id);
}

bool ExperimentRefresher::refresh(const ExperimentView& view) {
  const std::vector<std::int64_t> wids = open_units(view);
  const std::string key = view.fact("orchestrator");
  if (wids.empty() || view.supervised || key.empty() || silent_.contains(key)) return false;
  try {
    HostCatalog catalog(with_recorded_plugin_dirs(plugin_dirs_, view.directory),
                        UnknownDefaults::load_plugin);
    LaunchedExperiment experiment(view.directory, catalog, plugin_dirs_);
    experiment.orchestrator().refresh(wids);
  } catch (const Error& error) {
    silent_[key] = error.message();
    std::fputs(report_text(error, has_colors(stderr)).c_str(), stderr);
    std::fputs("trivet: showing the last recorded states\n", stderr);
  }
  return true;
}

}  // namespace trivet
