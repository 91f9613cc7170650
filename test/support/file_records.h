// SPDX-License-Identifier: Apache-2.0
// FileRecords: the host's records of an experiment's units in the smallest form that several
// processes can share: a file of events, and a file for each canceled unit.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "trivet/launch/unit_records.h"

namespace trivet::test {

class FileRecords final : public launch::UnitRecords {
 public:
  FileRecords(std::filesystem::path directory, std::vector<launch::WorkUnit> units);

  std::vector<launch::WorkUnit> units() override { return units_; }
  launch::WorkUnit add(const launch::SweepItem& item) override;
  launch::JobStatus status(std::int64_t wid, std::string_view job) override;
  void record(std::span<const launch::JobEvent> events,
              Durability durability = Durability::cached) override;
  bool is_cancelled(std::int64_t wid) override;
  void refresh() override;

  // Actions of users.
  void append_unit(launch::WorkUnit unit) { units_.push_back(std::move(unit)); }
  void mark_cancelled(std::int64_t wid) const;

  // "1/main running 1": unit, job, state and attempt of each event of all processes, in order.
  std::vector<std::string> history();
  // Of the job "main".
  launch::JobState state(std::int64_t wid, const std::string& job = "main");

 private:
  std::filesystem::path events_, directory_;
  std::vector<launch::WorkUnit> units_;
  std::map<std::pair<std::int64_t, std::string>, launch::JobStatus> statuses_;
};

}  // namespace trivet::test
