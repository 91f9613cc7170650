// SPDX-License-Identifier: Apache-2.0
// Queries of the index. States are current: jobs that should be running are checked.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/database.h"
#include "launch/store/experiment_store.h"
#include "launch/store/experiment_view.h"
#include "rundir/metrics_reader.h"
#include "rundir/metrics_tally.h"
#include "rundir/run_status.h"

namespace trivet {

using UnitId = std::pair<std::int64_t, std::int64_t>;  // xid, wid

// A work unit and the run in its directory.
struct UnitRun {
  UnitId id;
  std::string directory;
  std::string sweep;  // a table as JSON
  launch::JobState state = launch::JobState::pending;
  double changed = 0;  // last change of a job's state, since 1970; 0: none
  RunStatus run;       // without path and metrics; state "unknown" if there is no run
};

struct RunNumbers {
  LastRecords last;
  std::vector<NumberRange> ranges;  // of evaluations
};

// A unit with running jobs.
struct UnitAtWork {
  UnitRun unit;
  RunNumbers numbers;
  std::vector<JobView> jobs;  // the running jobs
};

enum class WhichNumber { last, low, high };
// One value per unit.
using UnitNumbers = std::vector<std::pair<UnitId, double>>;
std::optional<double> number_of(const UnitNumbers& numbers, const UnitId& unit);

// The caller must set ExperimentView::supervised.
std::vector<ExperimentView> experiment_rows(Database& database);
// One experiment with all units or one unit, and their jobs. Nothing if the experiment does not
// exist.
std::optional<ExperimentView> experiment_row(Database& database, std::int64_t xid,
                                             std::optional<std::int64_t> wid = {});
// Units of all experiments, or of one. Nothing if the files of a run changed since they were read.
std::optional<std::vector<UnitRun>> current_unit_rows(
    Database& database, std::optional<std::int64_t> xid,
    const std::vector<ExperimentStore::Location>& locations);
std::vector<UnitRun> unit_rows(Database& database, std::optional<std::int64_t> xid);
std::vector<UnitAtWork> units_at_work(Database& database);

std::vector<std::string> indexed_number_names(Database& database, RecordKind kind,
                                              std::optional<std::int64_t> xid);
UnitNumbers indexed_numbers(Database& database, const std::string& name,
                            std::optional<RecordKind> kind, WhichNumber which);
std::map<UnitId, RunNumbers> all_indexed_numbers(Database& database, std::optional<UnitId> unit);

}  // namespace trivet
