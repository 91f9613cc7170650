// SPDX-License-Identifier: Apache-2.0
// Runs and launched work units side by side, as a table and as JSON.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/view/sweep_columns.h"
#include "launch/index/index_queries.h"
#include "rundir/run_status.h"
#include "trivet/config/value.h"

namespace trivet {

struct ListedRun {
  std::string name;                          // the displayed name: "3/2", or the directory
  std::string state;                         // that of the work unit, else of the run
  RunStatus run;                             // with its numbers where all are shown
  std::string directory;                     // of a work unit
  std::optional<UnitId> unit;                // empty for a run that was not launched
  std::string sweep = "{}";                  // a table, as JSON
  SweepCells cells;                          // the same for display
  double time = -1;                          // last sign of life
  std::vector<NumberRange> ranges;           // of evaluations
  std::vector<std::optional<double>> shown;  // by number column
};

// A column of numbers: the last value of a metric, or the best of its evaluations.
struct NumberColumn {
  std::string head, name;  // name: as users write it, "eval/accuracy"
  WhichNumber which = WhichNumber::last;
};
// "accuracy": the better direction follows from the name; "loss:min" and "score:max" set it.
NumberColumn best_column(const std::string& text);
NumberColumn last_column(const std::string& name);

std::optional<double> number_in(const ListedRun& run, const NumberColumn& column);

// Orders by "run", "state", "step", "age", an argument of a sweep or the head or name of a column;
// runs without a value come last. Throws UsageError for any other name.
void sort_runs(std::vector<ListedRun>& runs, const std::string& by, bool reverse,
               const std::vector<NumberColumn>& columns);

std::string run_table(const std::vector<ListedRun>& runs, const std::vector<NumberColumn>& columns,
                      int width);
Value json_of_runs(const std::vector<ListedRun>& runs);

// The step, with the target step if known: "20/100". "-" without a step.
std::string step_text(const RunStatus& run);

}  // namespace trivet
