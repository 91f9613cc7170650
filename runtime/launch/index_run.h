// SPDX-License-Identifier: Apache-2.0
//
// What the index has of the run in a work unit's directory: status.json and metrics.jsonl.
#pragma once

#include <cstdint>
#include <string>

#include "launch/database.h"
#include "launch/file_mark.h"
#include "train/metrics_tally.h"

namespace trivet {

struct UnitFiles {
  std::int64_t xid = 0, wid = 0;
  std::string directory;
  FileMark status_mark;
  LineMark metrics_mark;
  bool is_over = false;  // by status.json

  std::string status() const { return directory + "/status.json"; }
  std::string metrics() const { return directory + "/metrics.jsonl"; }
  // A run says last that it is over, and first that it goes on: until then its records stay.
  bool have_changed(const MarksBelow& experiment) const;
};

// Reads what has changed into the tables.
void take_run(Database& database, const UnitFiles& unit);

}  // namespace trivet
