// SPDX-License-Identifier: Apache-2.0
// The files that a search writes to the experiment's directory, for listings:
//
//   XP_DIR/search.json    {"objective": "eval/accuracy", "goal": "max", "trials": 30, "space": {}},
//                         "failure": the reason, if it failed, and "objectives", if there are
//                         several: [{"objective": ..., "goal": ...}]
//   XP_DIR/search.jsonl   a line for each trial's start and one for its end
//                         {"trial": 0, "state": "running", "point": {"lr": 0.01}, "time": ...}
//                         {"trial": 0, "state": "complete", "wid": 1, "value": 0.25, "detail": ""}
//                         and "values", if there are several objectives
//
// End states of trials: complete, stopped (early), failed.
#pragma once

#include <cstddef>
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
  std::optional<double> value{};  // of the first objective
  std::vector<double> values{};   // of all, if there are several
  std::string detail{};
};

struct ObjectiveView {
  std::string name, goal;  // empty: unset
};

struct SearchView {
  std::vector<ObjectiveView> objectives;
  Value space = Value::table();  // empty in records of older versions
  std::string failure;           // of a search that ended without a result
  std::int64_t asked = 0;        // trials; 0: unset
  std::vector<TrialView> trials;

  // The last trial of a unit. Null if there is none.
  const TrialView* of_unit(std::int64_t wid) const;
  // Null if no trial has a value, the goal is unknown, or there are several objectives.
  const TrialView* best() const;
  // With several objectives: the trials that no other one surpasses in all of them.
  std::vector<const TrialView*> front() const;
  // Units whose trial was stopped early: they are not failures.
  std::set<std::int64_t> stopped_units() const;
};

// Nothing if the experiment is not a search, or has not started. Skips lines that are not records,
// such as an incomplete last line. Throws RunError if a file cannot be read.
std::optional<SearchView> read_search(const std::filesystem::path& experiment);

// How much each key matters for an objective (trivet/search/importance.h), from the trials that
// have completed: a table of numbers by key. Null if they say nothing, or the space is unknown. Its
// time grows with their number: some milliseconds for a hundred.
Value importances_of(const SearchView& search, std::size_t objective);

// "  search   max eval/accuracy: 2 of 30 trials, 1 complete, 1 failed", and the best one, or why
// there is none. With several objectives the Pareto front.
std::string search_text(const SearchView& search);
// "  importance of eval/accuracy: lr 0.61, width 0.20"; a line for each objective.
std::string importances_text(const SearchView& search);
Value view_value(const SearchView& search);
// The same numbers, for each objective by name.
Value importances_value(const SearchView& search);

}  // namespace trivet
