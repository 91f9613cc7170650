// SPDX-License-Identifier: Apache-2.0
//
// What is asked of the tables of the index. States are as of now: jobs that should be at work are
// looked at.
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
  std::string sweep;  // a table, as JSON
  launch::JobState state = launch::JobState::pending;
  double changed = 0;  // the last change of a job's state, since 1970; 0: none
  RunStatus run;       // without path and numbers; state "unknown" where there is no run
};

struct RunNumbers {
  LastRecords last;
  std::vector<NumberRange> ranges;  // of evaluations
};

// A unit with jobs that run now.
struct UnitAtWork {
  UnitRun unit;
  RunNumbers numbers;
  std::vector<JobView> jobs;  // those
};

enum class WhichNumber { last, low, high };
// By unit, one of each.
using UnitNumbers = std::vector<std::pair<UnitId, double>>;
std::optional<double> number_of(const UnitNumbers& numbers, const UnitId& unit);

// These two leave ExperimentView::supervised to the caller.
std::vector<ExperimentView> experiment_rows(Database& database);
// With its units, or one of them, and their jobs; nothing when there is no such experiment.
std::optional<ExperimentView> experiment_row(Database& database, std::int64_t xid,
                                             std::optional<std::int64_t> wid = {});
// Of all experiments, or of one; nothing when the files of a run are no longer as they were read.
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
