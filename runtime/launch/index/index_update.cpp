// SPDX-License-Identifier: Apache-2.0
#include "launch/index/index_update.h"

#include <algorithm>

#include <fmt/core.h>

#include "launch/index/index_experiment.h"
#include "launch/index/index_run.h"

namespace trivet {

// Stops at the first change unless it writes.
bool IndexUpdate::pass(const Scope& scope, bool write) {
  if (!scope.xid && pass_gone(write) && !write) return true;
  if (pass_experiments(scope, write) && !write) return true;
  return scope.runs && pass_runs(scope, write);
}

bool IndexUpdate::pass_gone(bool write) {
  std::vector<std::int64_t> gone;
  Statement known(database_, "SELECT xid FROM experiments");
  while (known.step()) {
    const std::int64_t xid = known.integer(0);
    const auto is_it = [&](const ExperimentStore::Location& location) {
      return location.xid == xid;
    };
    if (std::none_of(locations_.begin(), locations_.end(), is_it)) gone.push_back(xid);
  }
  for (std::size_t i = 0; write && i < gone.size(); ++i) IndexedFiles::forget(database_, gone[i]);
  return !gone.empty();
}

bool IndexUpdate::pass_experiments(const Scope& scope, bool write) {
  bool any = false;
  for (const ExperimentStore::Location& location : locations_) {
    if (scope.xid && *scope.xid != location.xid) continue;
    IndexedFiles files(database_, location);
    if (!files.is_behind()) continue;
    any = true;
    if (!write) break;
    files.take();
  }
  return any;
}

bool IndexUpdate::pass_runs(const Scope& scope, bool write) {
  Statement units(database_, fmt::format("SELECT {} FROM units WHERE ?1 IS NULL OR xid = ?1 "
                                         "ORDER BY xid, wid",
                                         kUnitFilesColumns));
  if (scope.xid) units.bind(1, *scope.xid);
  RunWatch watch(locations_);
  std::vector<UnitFiles> changed;
  while (units.step()) {
    UnitFiles unit = unit_files_of_row(units);
    if (!watch.has_changed(unit)) continue;
    changed.push_back(std::move(unit));
    if (!write) break;
  }
  units.reset();
  for (std::size_t i = 0; write && i < changed.size(); ++i) take_run(database_, changed[i]);
  return !changed.empty();
}

}  // namespace trivet
