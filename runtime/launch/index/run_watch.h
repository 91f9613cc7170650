// SPDX-License-Identifier: Apache-2.0
// Reads the run in a work unit's directory into the index: status.json and metrics.jsonl.
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
  bool is_over = false;  // according to status.json

  std::string status() const { return directory + "/status.json"; }
  std::string metrics() const { return launch::metrics_files(directory)[0].string(); }
  // The file of a job that evaluates the checkpoints of another job.
  std::string eval_metrics() const { return launch::metrics_files(directory)[1].string(); }
  // A run writes its end last and its continuation first: in between, its records do not change.
  bool have_changed(const StampsBelow& experiment) const;
};

// Columns of the units table for unit_files_of_row().
inline constexpr const char* kUnitFilesColumns =
    "xid, wid, directory, status_mark, metrics_mark, "
    "reported IN ('done', 'failed', 'interrupted', 'preempted'), eval_mark";
UnitFiles unit_files_of_row(Statement& row);  // starts with these columns

// Checks the files of one unit after another. Pass the units of an experiment consecutively.
class RunWatch {
 public:
  // The arguments must outlive this object.
  explicit RunWatch(const std::vector<ExperimentStore::Location>& locations)
      : locations_(locations) {}
  bool has_changed(const UnitFiles& unit);

 private:
  const std::vector<ExperimentStore::Location>& locations_;
  std::int64_t xid_ = 0;
  std::optional<StampsBelow> experiment_;
};

// Reads changed files into the tables.
void take_run(Database& database, const UnitFiles& unit);

}  // namespace trivet
