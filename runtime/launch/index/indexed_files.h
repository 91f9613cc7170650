// SPDX-License-Identifier: Apache-2.0
// Reads one experiment into the index: experiment.json, units.jsonl and events.jsonl.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/database.h"
#include "base/file_stamp.h"
#include "launch/store/experiment_store.h"
#include "trivet/launch/unit_records.h"

namespace trivet {

class IndexedFiles {
 public:
  // The row of an experiment, if it exists.
  IndexedFiles(Database& database, const ExperimentStore::Location& location);

  bool is_behind() const;
  void take();

  static void forget(Database& database, std::int64_t xid);

 private:
  using Events = std::map<std::pair<std::int64_t, std::string>, launch::JobStatus>;

  void take_facts();
  void take_lines();
  LineStamp read(AppendedLines& lines, const std::function<void(std::string_view)>& take);
  void take_unit(std::string_view line);
  void take_event(std::string_view line, Events& events);
  void store(const Events& events);
  void store_states(const Events& events);
  void write_row();

  Database& database_;
  const ExperimentStore::Location& location_;
  bool is_known_ = false;
  FileStamp facts_mark_;
  std::string facts_ = "{}", facts_problem_, lines_problem_;
  std::int64_t bad_units_ = 0, bad_events_ = 0;
  LineStamp units_mark_, events_mark_;
};

// The status of a job, read from a row starting at column `first`.
inline constexpr const char* kStatusColumns =
    "state, attempt, failures, exit_code, signal, time, started, host, detail";
launch::JobStatus status_of_row(Statement& row, int first);

}  // namespace trivet
