// SPDX-License-Identifier: Apache-2.0
//
// What the index has of the run in a work unit's directory: status.json and metrics.jsonl.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/database.h"
#include "base/file_stamp.h"
#include "launch/store/experiment_store.h"
#include "rundir/metrics_tally.h"
#include "trivet/launch/unit_files.h"

namespace trivet {

struct UnitFiles {
  std::int64_t xid = 0, wid = 0;
  std::string directory;
  FileStamp status_mark;
  LineStamp metrics_mark, eval_mark;
  bool is_over = false;  // by status.json

  std::string status() const { return directory + "/status.json"; }
  std::string metrics() const { return launch::metrics_files(directory)[0].string(); }
  // Of a job that evaluates the checkpoints of another one.
  std::string eval_metrics() const { return launch::metrics_files(directory)[1].string(); }
  // A run says last that it is over, and first that it goes on: until then its records stay.
  bool have_changed(const StampsBelow& experiment) const;
};

// Of the table of units, for unit_files_of_row().
inline constexpr const char* kUnitFilesColumns =
    "xid, wid, directory, status_mark, metrics_mark, "
    "reported IN ('done', 'failed', 'interrupted', 'preempted'), eval_mark";
UnitFiles unit_files_of_row(Statement& row);  // these columns first

// Looks at the files of unit after unit, those of an experiment one after the other.
class RunWatch {
 public:
  // Which outlive it.
  explicit RunWatch(const std::vector<ExperimentStore::Location>& locations)
      : locations_(locations) {}
  bool has_changed(const UnitFiles& unit);

 private:
  const std::vector<ExperimentStore::Location>& locations_;
  std::int64_t xid_ = 0;
  std::optional<StampsBelow> experiment_;
};

// Reads what has changed into the tables.
void take_run(Database& database, const UnitFiles& unit);

}  // namespace trivet
