// SPDX-License-Identifier: Apache-2.0
// Units of a search whose jobs the test simulates: it writes their metrics and sets their ends.
#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "support/shell.h"
#include "trivet/launch/unit_records.h"

namespace trivet::test {

// Records in memory, which outlive a killed search.
class PlayedUnits final : public launch::UnitRecords {
 public:
  std::vector<launch::WorkUnit> units() override { return units_; }

  launch::WorkUnit add(const launch::SweepItem& item) override {
    if (refuses && refuses(item)) {
      throw ConfigError(Diagnostic{.where = {}, .path = "n", .what = "cannot be", .hint = {}});
    }
    for (const launch::WorkUnit& unit : units_) {
      if (unit.sweep.args == item.args) return unit;
    }
    launch::WorkUnit unit;
    unit.wid = std::ssize(units_) + 1;
    unit.directory = dir_.path() / std::to_string(unit.wid);
    unit.sweep = item;
    unit.jobs.resize(1);
    unit.jobs[0].name = "main";
    std::filesystem::create_directory(unit.directory);
    return units_.emplace_back(unit);
  }

  launch::JobStatus status(std::int64_t wid, std::string_view) override { return statuses_[wid]; }
  void record(std::span<const launch::JobEvent> events, Durability) override {
    for (const launch::JobEvent& event : events) statuses_[event.wid] = event.status;
  }
  bool is_cancelled(std::int64_t wid) override { return cancelled.contains(wid); }
  void refresh() override {}

  // Simulates the job of a unit.
  void measure(std::int64_t wid, std::int64_t step, double value) const {
    log(wid, step, "\"loss\": " + short_number(value));
  }
  // Also of its second job, a continuous evaluation.
  void log(std::int64_t wid, std::int64_t step, const std::string& values,
           const std::string& job = {}) const {
    std::filesystem::create_directories(directory(wid) / job);
    std::ofstream(directory(wid) / job / "metrics.jsonl", std::ios::app)
        << R"({"step": )" << step << R"(, "kind": "eval", "values": {)" << values << "}}\n";
  }
  void end(std::int64_t wid, launch::JobState state = launch::JobState::completed) {
    statuses_[wid].state = state;
  }

  const std::filesystem::path& experiment() const { return dir_.path(); }
  std::filesystem::path directory(std::int64_t wid) const {
    return dir_.path() / std::to_string(wid);
  }

  // Units that users have canceled.
  std::set<std::int64_t> cancelled;
  std::function<bool(const launch::SweepItem&)> refuses;

 private:
  static std::string short_number(double value) {
    std::ostringstream text;
    text << value;
    return text.str();
  }

  TempDir dir_;
  std::vector<launch::WorkUnit> units_;
  std::map<std::int64_t, launch::JobStatus> statuses_;
};

}  // namespace trivet::test
