// SPDX-License-Identifier: Apache-2.0
// Encoding: how the text of a table becomes numbers, as it was learnt from the training rows, and
// the file that keeps it with a run.
//
//   numbers      (value - mean) / std, with `fill` for a missing value; and 1 or 0 for "is missing"
//                behind all of them, for each column that has an indicator
//   categories   0 for a missing value, 1 for one that is not in the vocabulary, 2 + its location
//   label        its location among the classes, or (value - mean) / std
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace trivet::tabular {

// Ids of categories below the vocabulary.
inline constexpr std::int32_t kMissingId = 0, kUnseenId = 1, kFirstId = 2;

struct NumberColumn {
  std::string name;
  double mean = 0, std = 1;
  double fill = 0;  // in the column's own unit
  bool indicator = false;
};

struct CategoryColumn {
  std::string name;
  std::vector<std::string> values;  // the most frequent first

  std::int64_t size() const { return kFirstId + static_cast<std::int64_t>(values.size()); }
};

// Tells whether a table is the one of before: for each column a hash of all its cells in order.
struct Fingerprint {
  std::int64_t rows = 0;
  std::map<std::string, std::string> columns;

  bool operator==(const Fingerprint&) const = default;
};

struct Encoding {
  std::string label;
  std::vector<std::string> classes;  // of a classification: by number where all are, else by text
  double label_mean = 0, label_std = 1;  // of a regression
  std::vector<NumberColumn> numbers;
  std::vector<CategoryColumn> categories;
  std::optional<Fingerprint> training;  // of the rows it was learnt from, or first used with

  std::int64_t number_features() const;  // columns and indicators
  std::vector<std::int64_t> category_sizes() const;
};

// As JSON, written whole or not at all. Throw RunError naming the file.
void save_encoding(const Encoding& encoding, const std::filesystem::path& file);
Encoding load_encoding(const std::filesystem::path& file);

}  // namespace trivet::tabular
