// SPDX-License-Identifier: Apache-2.0
// Shared by the tasks for tables: selects the columns for the model and turns text into numbers. A
// task's input must yield rows of text (data/Csv); see trivet/extensions/table.h.
//
//   [task]
//   type = "tabular/Classification"
//   label = "species"
//   ignore = ["id"]
//   model = "tabular/Mlp"
//
// A column whose values are all numbers is numeric, any other is categorical. `numeric` and
// `categorical` override this (a postal code is not a number). Means and vocabularies are learned
// from the training rows and stored in the run's table.json, which evaluations and resumed runs
// use.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trivet/task.h"

namespace trivet::tabular {

// The replacement of a missing number.
enum class Impute {
  mean,           // of the training rows
  median,         // of an even count: the mean of the two middle values
  most_frequent,  // the smallest if several
};
TRIVET_ENUM(Impute, mean, median, most_frequent)

struct TabularConfig : TaskConfig {
  std::string label;
  std::vector<std::string> features;
  std::vector<std::string> ignore;
  std::vector<std::string> numeric;
  std::vector<std::string> categorical;
  Impute impute = Impute::mean;
  Map<Impute> impute_columns;
  bool indicators = true;
  bool standardize = true;
  std::int64_t max_categories = 1000;
  std::int64_t min_count = 1;
  Path encoding;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(
    TabularConfig, trivet::TaskConfig, (label, "The column to predict.", required),
    (features, "The columns to predict it from; empty: all others but `ignore`."),
    (ignore, "Columns that the model does not see, such as names and ids."),
    (numeric, "Columns that must be numbers. Other columns are detected."),
    (categorical, "Columns of categories, though their values may look like numbers."),
    (impute, "Replacement of a missing number."),
    (impute_columns, "Imputation of single columns by name: {age = \"median\"}."),
    (indicators,
     "A column that lacks numbers in training rows gets a second one: 1 where it is missing."),
    (standardize, "Numbers get mean 0 and standard deviation 1 over the training rows."),
    (max_categories, "Values a column's vocabulary has at most, the most frequent ones.",
     at_least(1), at_most(1000000)),
    (min_count, "Minimum number of training rows with a value; rarer values count as unseen.",
     at_least(1)),
    (encoding,
     "A table.json, or a run's directory with one, to use instead of looking at the training "
     "rows: for fine-tuning, or evaluation in another directory."))

}  // namespace trivet::tabular
