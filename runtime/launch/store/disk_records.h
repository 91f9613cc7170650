// SPDX-License-Identifier: Apache-2.0
//
// DiskRecords: the records of an experiment, files of lines to which several processes append:
//
//   units.jsonl     the work units, to_value() of each
//   events.jsonl    {"wid": 1, "job": "train", "state": "running", "attempt": 1, "failures": 0,
//                    "exit_code": null, "signal": 0, "time": ..., "started": ..., "host": "...",
//                    "detail": ""}
//   requests.jsonl  {"wid": 1, "request": "cancel", "time": ...}: what people ask for; "retry"
//                   takes a cancel back and lets the unit start afresh
//
// A line without its end is what a killed process left: it does not count and is closed by the next
// that appends.
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

// Appends lines, each with its end, all or none. Safe against other processes that do the same.
void append_lines(const std::filesystem::path& file, std::string_view lines, Durability durability);

// Held while units are added, so that two that do so number them one after the other.
UniqueFd lock_units(const std::filesystem::path& experiment);

// Reads the lines of a growing file, each once.
class LineFollower {
 public:
  explicit LineFollower(std::filesystem::path file) : file_(std::move(file)) {}
  // The whole lines since the last call; none for a file that is not there.
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
  // Makes the unit that add() is asked for; without one add() is an error.
  using AddUnit = std::function<launch::WorkUnit(DiskRecords&, const SweepItem&)>;

  // Reads everything. Throws RunError for files that cannot be read or hold something else.
  explicit DiskRecords(std::filesystem::path directory, AddUnit add = {});

  const std::filesystem::path& directory() const { return directory_; }

  std::vector<launch::WorkUnit> units() override { return units_; }
  launch::WorkUnit add(const SweepItem& item) override;
  launch::JobStatus status(std::int64_t wid, std::string_view job) override;
  void record(std::span<const launch::JobEvent> events, Durability durability) override;
  bool is_cancelled(std::int64_t wid) override;
  void refresh() override;

  const std::vector<launch::WorkUnit>& all_units() const { return units_; }
  // Null when there is none.
  const launch::WorkUnit* find_unit(std::int64_t wid) const;

  // Records further units.
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

// What becomes of a unit, from those of its jobs: running while one runs, failed if one failed, and
// so on.
launch::JobState unit_state(std::span<const launch::JobStatus> jobs);

}  // namespace trivet
