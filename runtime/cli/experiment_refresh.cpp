// SPDX-License-Identifier: Apache-2.0
#include "cli/experiment_refresh.h"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "cli/host_catalog.h"
#include "cli/report.h"
#include "cli/terminal.h"
#include "launch/launcher.h"
#include "trivet/error.h"

namespace trivet {
namespace {

constexpr std::chrono::seconds kAskEvery{10};

std::vector<std::int64_t> open_units(const ExperimentView& view) {
  std::vector<std::int64_t> wids;
  for (const UnitView& unit : view.units) {
    const bool is_open = std::any_of(unit.jobs.begin(), unit.jobs.end(),
                                     [](const auto& job) { return !launch::is_final(job.state); });
    if (is_open) wids.push_back(unit.unit.wid);
  }
  return wids;
}

std::vector<std::string> plugin_dirs(const ExperimentView& view) {
  std::vector<std::string> folders;
  const Value* list = view.facts.find("plugin_dirs");
  if (list == nullptr || !list->is_array()) return folders;
  for (const Value& folder : list->items()) folders.push_back(folder.as_text());
  return folders;
}

}  // namespace

ExperimentView ExperimentRefresher::view(const std::filesystem::path& directory) {
  ExperimentView view = view_experiment(directory);
  return refresh(view) ? view_experiment(directory) : view;
}

ExperimentView ExperimentRefresher::view_again(const std::filesystem::path& directory) {
  const auto now = std::chrono::steady_clock::now();
  if (asked_at_ && now < *asked_at_ + kAskEvery) return view_experiment(directory);
  asked_at_ = now;
  silent_.clear();
  return view(directory);
}

bool ExperimentRefresher::refresh(const ExperimentView& view) {
  const std::vector<std::int64_t> wids = open_units(view);
  const std::string key = view.fact("orchestrator");
  if (wids.empty() || view.supervised || silent_.contains(key)) return false;
  try {
    HostCatalog catalog(plugin_dirs(view), UnknownDefaults::load_plugin);
    LaunchedExperiment experiment(view.directory, catalog);
    experiment.orchestrator().refresh(wids);
  } catch (const Error& error) {
    silent_[key] = error.message();
    std::fputs(report_text(error, has_colours(stderr)).c_str(), stderr);
    std::fputs("trivet: shown is what was known before\n", stderr);
  }
  return true;
}

}  // namespace trivet
