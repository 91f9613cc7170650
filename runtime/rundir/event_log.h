// SPDX-License-Identifier: Apache-2.0
// EventLog: log.jsonl, the events of a run, one JSON object per line:
//
//   {"time": 1763690431.25, "level": "info", "event": "checkpoint", "step": 400, ...}
//
// Levels are info, warning and error. Processes that continue a run append. All lines are complete:
// an incomplete line is removed, by the next process if this one is killed.
#pragma once

#include <filesystem>
#include <string_view>

#include "trivet/config/value.h"
#include "trivet/os/file.h"

namespace trivet {

class EventLog {
 public:
  explicit EventLog(std::filesystem::path path);

  // `fields` is a table. Throws RunError if the line cannot be written.
  void write(std::string_view level, std::string_view event, const Value& fields);

 private:
  std::filesystem::path path_;
  UniqueFd file_;
};

}  // namespace trivet
