// SPDX-License-Identifier: Apache-2.0
// Encoding: the rules that turn a table's text into numbers, learned from the training rows, and
// the run's file that stores them.
//
//   numbers      (value - mean) / std, with `fill` for a missing value; after all of them, 1 or 0
//                for "is missing" for each column with an indicator
//   categories   0 for a missing value, 1 for one that is not in the vocabulary, 2 + its index
//   label        its index among the classes, or (value - mean) / std
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
  std::vector<std::string> values;  // most frequent first

  std::int64_t size() const { return kFirstId + static_cast<std::int64_t>(values.size()); }
};

// Identifies a table: for each column a hash of all its cells in order.
struct Fingerprint {
  std::int64_t rows = 0;
  std::map<std::string, std::string> columns;

  bool operator==(const Fingerprint&) const = default;
};

struct Encoding {
  std::string label;
  std::vector<std::string> classes;      // for classification; numeric order if possible
  double label_mean = 0, label_std = 1;  // for regression
  std::vector<NumberColumn> numbers;
  std::vector<CategoryColumn> categories;
  std::optional<Fingerprint> training;  // of the rows that it was learned from or first used with

  std::int64_t number_features() const;  // columns and indicators
  std::vector<std::int64_t> category_sizes() const;
};

// Writes JSON atomically. Both throw RunError with the file's name.
void save_encoding(const Encoding& encoding, const std::filesystem::path& file);
Encoding load_encoding(const std::filesystem::path& file);

}  // namespace trivet::tabular
