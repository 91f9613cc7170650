// SPDX-License-Identifier: Apache-2.0
#include "fit.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "fingerprint.h"
#include "table_encoder.h"
#include "trivet/error.h"

namespace trivet::tabular {
namespace {

// State of one column: first the kinds of its cells, then their values.
struct Column {
  std::string name;
  std::size_t index = 0;
  std::optional<bool> is_number{};  // from the config, else from the cells

  std::int64_t present = 0, missing = 0, numbers = 0;
  std::string other{};  // the first text that is not a number, for messages
  std::int64_t other_row = 0, other_line = 0;

  std::vector<double> values{};                  // of a numeric column
  std::map<std::string, std::int64_t> counts{};  // of a categorical column
};

bool is_in(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

class Fit {
 public:
  Fit(const TabularConfig& config, Target target, TableInput& table)
      : config_(config), target_(target), table_(table) {}

  Encoding run() {
    choose_columns();
    look();
    for (Column& column : features_) decide(column);
    collect();
    Encoding encoding;
    encoding.label = config_.label;
    finish_label(encoding);
    for (Column& column : features_) {
      if (*column.is_number) {
        encoding.numbers.push_back(number_column(column));
      } else {
        encoding.categories.push_back(category_column(column));
      }
    }
    encoding.training = fingerprint_of(table_);
    return encoding;
  }

 private:
  void choose_columns();
  std::size_t column_of(const std::string& name, const char* field) const;
  void must_be_features(const std::vector<std::string>& names, const char* field) const;
  void look();
  void decide(Column& column) const;
  void collect();
  void collect_label(const TableRow& row);
  void finish_label(Encoding& encoding) const;
  NumberColumn number_column(Column& column) const;
  CategoryColumn category_column(const Column& column) const;
  double fill_of(Column& column) const;
  std::pair<double, double> mean_and_std(const Column& column) const;

  const TabularConfig& config_;
  Target target_;
  TableInput& table_;
  Column label_;
  std::map<std::string, double> class_numbers_;  // of classes that are numbers
  std::vector<Column> features_;
};

// Returns the index of a column named in a field of the task.
std::size_t Fit::column_of(const std::string& name, const char* field) const {
  try {
    return column_named(name, table_.columns(), table_.file());
  } catch (Error& error) {
    error.amend({.path = std::string("task.") + field});
    throw;
  }
}

void Fit::choose_columns() {
  const auto& all = table_.columns();
  label_ = {.name = config_.label, .index = column_of(config_.label, "label")};
  for (const std::string& name : config_.ignore) column_of(name, "ignore");
  for (const std::string& name : config_.features) column_of(name, "features");
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool wanted =
        config_.features.empty() ? !is_in(config_.ignore, all[i]) : is_in(config_.features, all[i]);
    if (!wanted || i == label_.index) continue;
    features_.push_back({.name = all[i], .index = i});
    if (is_in(config_.numeric, all[i])) features_.back().is_number = true;
    if (is_in(config_.categorical, all[i])) features_.back().is_number = false;
  }
  if (features_.empty()) {
    throw InputError(table_.file() + ": no column to predict " + shown_cell(config_.label) +
                     " from");
  }
  must_be_features(config_.numeric, "numeric");
  must_be_features(config_.categorical, "categorical");
  std::vector<std::string> imputed;
  for (const auto& entry : config_.impute_columns) imputed.push_back(entry.first);
  must_be_features(imputed, "impute_columns");
}

void Fit::must_be_features(const std::vector<std::string>& names, const char* field) const {
  std::vector<std::string> known;
  for (const Column& column : features_) known.push_back(column.name);
  for (const std::string& name : names) {
    if (is_in(known, name)) continue;
    throw InputError(
        std::string(field) + ": " + shown_cell(name) + " is not a feature of " + table_.file(),
        {.hint = suggestion(name, known)});
  }
}

void Fit::look() {
  table_.scan([&](const TableRow& row) {
    for (Column& column : features_) {
      const TableCell& cell = row.cells[column.index];
      if (cell.missing) {
        ++column.missing;
        continue;
      }
      ++column.present;
      if (row.number_in(column.index)) {
        ++column.numbers;
      } else if (column.other_row == 0) {
        column.other = cell.text;
        column.other_row = row.number;
        column.other_line = row.line;
      }
    }
  });
}

void Fit::decide(Column& column) const {
  if (column.present == 0) {
    throw InputError(table_.file() + ": column " + shown_cell(column.name) +
                         " has no value in any of the " + std::to_string(table_.rows()) +
                         " training rows",
                     {.hint = "add it to ignore"});
  }
  if (column.is_number) return;  // collect() reports non-numbers
  column.is_number = column.numbers == column.present;
  // Mostly numbers: the others may be typos, marks for missing values, or codes. All of them would
  // silently change the result.
  if (!*column.is_number && column.numbers * 2 > column.present) {
    throw InputError("row " + std::to_string(column.other_row) + ", column '" + column.name +
                         "': " + shown_cell(column.other) + " is not a number, but " +
                         std::to_string(column.numbers) + " of the column's " +
                         std::to_string(column.present) + " values are",
                     {.where = {.file = table_.file(), .line = static_cast<int>(column.other_line)},
                      .hint = "add it to the input's `missing`, correct it, or name the column in "
                              "categorical; is decimal_mark right?"});
  }
}

void Fit::collect() {
  table_.scan([&](const TableRow& row) {
    collect_label(row);
    for (Column& column : features_) {
      const TableCell& cell = row.cells[column.index];
      if (cell.missing) continue;
      if (!*column.is_number) {
        ++column.counts[std::string(cell.text)];
      } else if (const auto number = row.number_in(column.index)) {
        column.values.push_back(*number);
      } else {
        throw row.error(column.name, shown_cell(cell.text) + " is not a number",
                        "the column is named in numeric; is decimal_mark right?");
      }
    }
  });
}

void Fit::collect_label(const TableRow& row) {
  const TableCell& cell = row.cells[label_.index];
  if (cell.missing) {
    throw row.error(label_.name, "the label is missing",
                    "drop_missing = [\"" + label_.name + "\"] skips such rows");
  }
  const auto number = row.number_in(label_.index);
  if (target_ == Target::classes) {
    ++label_.counts[std::string(cell.text)];
    if (number) class_numbers_[std::string(cell.text)] = *number;
  } else if (number) {
    single(row, label_.name, *number);  // predictions are as large
    label_.values.push_back(*number);
  } else {
    throw row.error(label_.name, "the label " + shown_cell(cell.text) + " is not a number",
                    "use tabular/Classification for labels that are names");
  }
}

void Fit::finish_label(Encoding& encoding) const {
  if (target_ == Target::number) {
    std::tie(encoding.label_mean, encoding.label_std) = mean_and_std(label_);
    return;
  }
  if (label_.counts.size() < 2) {
    throw InputError(table_.file() + ": all training rows have the label " +
                     shown_cell(label_.counts.begin()->first));
  }
  if (static_cast<std::int64_t>(label_.counts.size()) > config_.max_categories) {
    throw InputError(table_.file() + ": column " + shown_cell(label_.name) + " has " +
                         std::to_string(label_.counts.size()) +
                         " different labels, more than max_categories = " +
                         std::to_string(config_.max_categories),
                     {.hint = "use tabular/Regression for labels that are quantities"});
  }
  for (const auto& entry : label_.counts) encoding.classes.push_back(entry.first);
  if (class_numbers_.size() == encoding.classes.size()) {
    std::stable_sort(encoding.classes.begin(), encoding.classes.end(),
                     [&](const std::string& a, const std::string& b) {
                       return class_numbers_.at(a) < class_numbers_.at(b);
                     });
  }
}

NumberColumn Fit::number_column(Column& column) const {
  NumberColumn made{.name = column.name};
  if (config_.standardize) std::tie(made.mean, made.std) = mean_and_std(column);
  made.fill = fill_of(column);
  made.indicator = config_.indicators && column.missing > 0;
  return made;
}

// A constant column gets the standard deviation 1, so that it becomes 0.
std::pair<double, double> Fit::mean_and_std(const Column& column) const {
  const double first = column.values.front();
  const auto differs = [&](double value) { return value != first; };
  if (std::none_of(column.values.begin(), column.values.end(), differs)) return {first, 1};
  const auto n = static_cast<double>(column.values.size());
  double sum = 0, squares = 0;
  for (const double value : column.values) sum += value;
  const double mean = sum / n;
  for (const double value : column.values) squares += (value - mean) * (value - mean);
  const double std = std::sqrt(squares / n);
  if (!std::isfinite(mean) || !std::isfinite(std)) {
    throw InputError(table_.file() + ": the values of column " + shown_cell(column.name) +
                     " are too large to compute their mean and standard deviation");
  }
  return {mean, std > 0 ? std : 1};
}

double Fit::fill_of(Column& column) const {
  const Impute* own = config_.impute_columns.find(column.name);
  const Impute impute = own != nullptr ? *own : config_.impute;
  std::vector<double>& values = column.values;
  if (impute == Impute::mean) return mean_and_std(column).first;
  std::sort(values.begin(), values.end());
  if (impute == Impute::median) {
    const std::size_t half = values.size() / 2;
    return values.size() % 2 == 1 ? values[half] : values[half - 1] / 2 + values[half] / 2;
  }
  double best = values[0];
  std::ptrdiff_t best_count = 0;
  for (auto begin = values.begin(); begin != values.end();) {
    const auto end = std::upper_bound(begin, values.end(), *begin);
    if (end - begin > best_count) {
      best = *begin;
      best_count = end - begin;
    }
    begin = end;
  }
  return best;
}

CategoryColumn Fit::category_column(const Column& column) const {
  std::vector<std::pair<std::string, std::int64_t>> found;
  for (const auto& entry : column.counts) {
    if (entry.second >= config_.min_count) found.push_back(entry);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  if (static_cast<std::int64_t>(found.size()) > config_.max_categories) {
    found.resize(static_cast<std::size_t>(config_.max_categories));
  }
  CategoryColumn made{.name = column.name, .values = {}};
  for (auto& entry : found) made.values.push_back(std::move(entry.first));
  return made;
}

}  // namespace

Encoding fit(const TabularConfig& config, Target target, TableInput& table) {
  return Fit(config, target, table).run();
}

}  // namespace trivet::tabular
