// SPDX-License-Identifier: Apache-2.0
//
// What an experiment that searches tells of itself in its directory, for listings:
//
//   XP_DIR/search.json    {"objective": "eval/accuracy", "goal": "max", "trials": 30}, and
//                         "failure": why, when it has failed
//   XP_DIR/search.jsonl   a line for each trial's begin and one for its end
//                         {"trial": 0, "state": "running", "point": {"lr": 0.01}, "time": ...}
//                         {"trial": 0, "state": "complete", "wid": 1, "value": 0.25, "detail": ""}
//
// States of trials that have ended: complete, stopped (early, as hopeless), failed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "trivet/config/value.h"

namespace trivet {

struct TrialView {
  std::int64_t number = 0;
  std::string state;
  std::int64_t wid = 0;  // once it has ended; 0: it got no unit
  Value point = Value::table();
  std::optional<double> value{};
  std::string detail{};
};

struct SearchView {
  std::string objective, goal;  // empty: not said
  std::string failure;          // of a search that has ended and has found nothing
  std::int64_t asked = 0;       // trials; 0: not said
  std::vector<TrialView> trials;

  // The last trial of a unit; null for none.
  const TrialView* of_unit(std::int64_t wid) const;
  // Null where no trial has a value, or the goal is not known.
  const TrialView* best() const;
  // Units whose trial was stopped: they are no failures.
  std::set<std::int64_t> stopped_units() const;
};

// Nothing for an experiment that does not search, or has not begun to. A line that is no record, as
// a process that is about to write it leaves it, is left out. Throws RunError for a file that
// cannot be read.
std::optional<SearchView> read_search(const std::filesystem::path& experiment);

// "  search   max eval/accuracy: 2 of 30 trials, 1 complete, 1 failed", and the best one, or why
// there is none.
std::string search_text(const SearchView& search);
Value view_value(const SearchView& search);

}  // namespace trivet
