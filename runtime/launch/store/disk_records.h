// SPDX-License-Identifier: Apache-2.0
// DiskRecords: the records of an experiment, JSON Lines files to which several processes append:
//
//   units.jsonl     the work units, to_value() of each
//   events.jsonl    {"wid": 1, "job": "train", "state": "running", "attempt": 1, "failures": 0,
//                    "exit_code": null, "signal": 0, "time": ..., "started": ..., "host": "...",
//                    "detail": ""}
//   requests.jsonl  {"wid": 1, "request": "cancel", "time": ...}: requests of users; "retry"
//                   withdraws a cancel and restarts the unit
//
// A killed process may leave a line without its end. Such a line does not count; the next process
// that appends ends it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trivet/launch/unit_records.h"
#include "trivet/os/file.h"

namespace trivet {

// Appends complete lines, all or none. Safe while other processes append.
void append_lines(const std::filesystem::path& file, std::string_view lines, Durability durability);

// Held while units are added, so that two processes do not use the same numbers.
UniqueFd lock_units(const std::filesystem::path& experiment);

// Reads each line of a growing file once.
class LineFollower {
 public:
  explicit LineFollower(std::filesystem::path file) : file_(std::move(file)) {}
  // The complete lines since the last call. None if the file does not exist.
  std::vector<std::string> next();
  const std::filesystem::path& file() const { return file_; }

 private:
  std::filesystem::path file_;
  std::uint64_t offset_ = 0;
};

Value to_value(const launch::JobEvent& event);
launch::JobEvent job_event_from(const Value& value);

class DiskRecords final : public launch::UnitRecords {
 public:
  // Builds the unit for add(). Without it, add() is an error.
  using AddUnit = std::function<launch::WorkUnit(DiskRecords&, const launch::SweepItem&)>;

  // Reads all records. Throws RunError for files that cannot be read or have other contents.
  explicit DiskRecords(std::filesystem::path directory, AddUnit add = {});

  const std::filesystem::path& directory() const { return directory_; }

  std::vector<launch::WorkUnit> units() override { return units_; }
  launch::WorkUnit add(const launch::SweepItem& item) override;
  launch::JobStatus status(std::int64_t wid, std::string_view job) override;
  void record(std::span<const launch::JobEvent> events, Durability durability) override;
  bool is_cancelled(std::int64_t wid) override;
  void refresh() override;

  const std::vector<launch::WorkUnit>& all_units() const { return units_; }
  // The highest number that a unit has, or had: events and requests outlive a damaged line of
  // units.jsonl, and must not be taken for those of a new unit. 0 if there is none.
  std::int64_t last_wid() const;
  // Null if there is none.
  const launch::WorkUnit* find_unit(std::int64_t wid) const;

  // Records new units.
  void append(std::span<const launch::WorkUnit> units);
  void request(std::span<const std::int64_t> wids, std::string_view what);

 private:
  void take_event(const launch::JobEvent& event);

  std::filesystem::path directory_;
  AddUnit add_;
  LineFollower unit_lines_, event_lines_, request_lines_;
  std::vector<launch::WorkUnit> units_;
  std::map<std::pair<std::int64_t, std::string>, launch::JobStatus, std::less<>> statuses_;
  std::map<std::int64_t, bool> cancelled_;
};

// The state of a unit from the states of its jobs: running while one runs, failed if one failed,
// and so on.
launch::JobState unit_state(std::span<const launch::JobStatus> jobs);

}  // namespace trivet
