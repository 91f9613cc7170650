// SPDX-License-Identifier: Apache-2.0
//
// What the records of an experiment say, for listings.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "launch/records.h"
#include "trivet/launch/job.h"
#include "trivet/launch/unit_records.h"
#include "trivet/value.h"

namespace trivet {

struct UnitView {
  launch::WorkUnit unit;
  std::vector<launch::JobStatus> jobs;  // in the order of unit.jobs
  launch::JobState state = launch::JobState::pending;
};

struct ExperimentView {
  std::filesystem::path directory;
  Value facts;  // experiment.json
  bool supervised = false;
  std::vector<UnitView> units;

  std::int64_t xid() const;
  std::string fact(std::string_view name) const;  // a text; empty when it is not there
  std::map<launch::JobState, std::int64_t> counts() const;
};

// Looks at the processes of jobs that should be running: one that is gone has the state that its
// attempt's files tell. Throws RunError for a directory that holds no experiment.
ExperimentView view_experiment(const std::filesystem::path& directory);

Value view_value(const ExperimentView& view);
Value view_value(const UnitView& view);

// The unit with this number. Throws UsageError when there is none.
const UnitView& unit_of(const ExperimentView& view, std::int64_t wid);

// Lines about the experiment as a whole.
std::string head_text(const ExperimentView& view);
// Why a job is as it is: "exit code 1, attempt 2"; may be empty.
std::string detail_text(const launch::JobStatus& status);
// "3 completed, 1 running"
std::string counts_text(const std::map<launch::JobState, std::int64_t>& counts);

}  // namespace trivet
