// SPDX-License-Identifier: Apache-2.0
// The records of an experiment for listings.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "trivet/config/value.h"
#include "trivet/launch/job.h"
#include "trivet/launch/unit_records.h"

namespace trivet {

struct JobView {
  std::string name;
  std::filesystem::path directory;
  std::int64_t retries = 0;
  launch::JobStatus status;
};

struct UnitView {
  std::int64_t wid = 0;
  std::filesystem::path directory;
  Value sweep = Value::table();
  launch::JobState state = launch::JobState::pending;
  double changed = 0;  // last change of a job's state, since 1970; 0: none
  std::vector<JobView> jobs;
};

struct ExperimentView {
  std::int64_t xid = 0;
  std::filesystem::path directory;
  Value facts = Value::table();          // experiment.json
  std::vector<std::string> diagnostics;  // damaged files, with the remedy
  bool supervised = false;
  std::map<launch::JobState, std::int64_t> counts;  // number of units by state
  std::vector<UnitView> units;

  std::string fact(std::string_view name) const;  // a string; empty if missing
  double launched() const;                        // since 1970; 0: unknown
  std::int64_t unit_count() const;
};

Value view_value(const ExperimentView& view);
Value view_value(const UnitView& view);

// The unit with this number. Throws UsageError if it does not exist.
const UnitView& unit_of(const ExperimentView& view, std::int64_t wid);

// Lines about the whole experiment.
std::string head_text(const ExperimentView& view);
// A line for each of its problems; may be empty.
std::string problems_text(const ExperimentView& view);
// A line for each experiment below a root whose launch was interrupted; may be empty.
std::string unfinished_text(const std::filesystem::path& root);
// The reason of a job's state: "exit code 1, attempt 2"; may be empty.
std::string detail_text(const launch::JobStatus& status);
// "3 completed, 1 running"
std::string counts_text(const std::map<launch::JobState, std::int64_t>& counts);
// "1 work unit", "3 work units"
std::string units_text(std::size_t count);

}  // namespace trivet
