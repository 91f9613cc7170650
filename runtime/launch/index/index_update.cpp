// SPDX-License-Identifier: Apache-2.0
#include "launch/index/index_update.h"

#include <algorithm>

#include <fmt/core.h>

#include "launch/index/indexed_files.h"
#include "launch/index/run_watch.h"

namespace trivet {

// Writing or not, it ends at the first thing that is new unless it writes.
bool IndexUpdate::pass(const Scope& scope, Access access) {
  const bool looks = access == Access::look;
  if (!scope.xid && pass_gone(access) && looks) return true;
  if (pass_experiments(scope, access) && looks) return true;
  return scope.runs && pass_runs(scope, access);
}

bool IndexUpdate::pass_gone(Access access) {
  std::vector<std::int64_t> gone;
  Statement known(database_, "SELECT xid FROM experiments");
  while (known.step()) {
    const std::int64_t xid = known.integer(0);
    const auto is_it = [&](const ExperimentStore::Location& location) {
      return location.xid == xid;
    };
    if (std::none_of(locations_.begin(), locations_.end(), is_it)) gone.push_back(xid);
  }
  if (access == Access::write) {
    for (const std::int64_t xid : gone) IndexedFiles::forget(database_, xid);
  }
  return !gone.empty();
}

bool IndexUpdate::pass_experiments(const Scope& scope, Access access) {
  bool any = false;
  for (const ExperimentStore::Location& location : locations_) {
    if (scope.xid && *scope.xid != location.xid) continue;
    IndexedFiles files(database_, location);
    if (!files.is_behind()) continue;
    any = true;
    if (access == Access::look) break;
    files.take();
  }
  return any;
}

bool IndexUpdate::pass_runs(const Scope& scope, Access access) {
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
    if (access == Access::look) break;
  }
  units.reset();
  if (access == Access::write) {
    for (const UnitFiles& unit : changed) take_run(database_, unit);
  }
  return !changed.empty();
}

}  // namespace trivet
