// SPDX-License-Identifier: Apache-2.0
// The files that a search writes to the experiment's directory, for listings:
//
//   XP_DIR/search.json    {"objective": "eval/accuracy", "goal": "max", "trials": 30}, and
//                         "failure": the reason, if it failed
//   XP_DIR/search.jsonl   a line for each trial's start and one for its end
//                         {"trial": 0, "state": "running", "point": {"lr": 0.01}, "time": ...}
//                         {"trial": 0, "state": "complete", "wid": 1, "value": 0.25, "detail": ""}
//
// End states of trials: complete, stopped (early), failed.
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
  std::int64_t wid = 0;  // once it has ended; 0: no unit
  Value point = Value::table();
  std::optional<double> value{};
  std::string detail{};
};

struct SearchView {
  std::string objective, goal;  // empty: unset
  std::string failure;          // of a search that ended without a result
  std::int64_t asked = 0;       // trials; 0: unset
  std::vector<TrialView> trials;

  // The last trial of a unit. Null if there is none.
  const TrialView* of_unit(std::int64_t wid) const;
  // Null if no trial has a value, or the goal is unknown.
  const TrialView* best() const;
  // Units whose trial was stopped early: they are not failures.
  std::set<std::int64_t> stopped_units() const;
};

// Nothing if the experiment is not a search, or has not started. Skips lines that are not records,
// such as an incomplete last line. Throws RunError if a file cannot be read.
std::optional<SearchView> read_search(const std::filesystem::path& experiment);

// "  search   max eval/accuracy: 2 of 30 trials, 1 complete, 1 failed", and the best one, or why
// there is none.
std::string search_text(const SearchView& search);
Value view_value(const SearchView& search);

}  // namespace trivet
