// SPDX-License-Identifier: Apache-2.0
#include "encoding.h"

#include <cmath>
#include <set>

#include <nlohmann/json.hpp>

#include "trivet/error.h"
#include "trivet/os/file.h"

namespace trivet::tabular {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr int kVersion = 1;

OrderedJson json_of(const NumberColumn& column) {
  return {{"column", column.name},
          {"mean", column.mean},
          {"std", column.std},
          {"fill", column.fill},
          {"indicator", column.indicator}};
}

OrderedJson json_of(const CategoryColumn& column) {
  return {{"column", column.name}, {"values", column.values}};
}

OrderedJson json_of(const Encoding& encoding) {
  OrderedJson json;
  json["table_encoding"] = kVersion;
  json["label"]["column"] = encoding.label;
  if (encoding.classes.empty()) {
    json["label"]["mean"] = encoding.label_mean;
    json["label"]["std"] = encoding.label_std;
  } else {
    json["label"]["classes"] = encoding.classes;
  }
  json["numbers"] = OrderedJson::array();
  for (const NumberColumn& column : encoding.numbers) json["numbers"].push_back(json_of(column));
  json["categories"] = OrderedJson::array();
  for (const CategoryColumn& column : encoding.categories) {
    json["categories"].push_back(json_of(column));
  }
  if (encoding.training) {
    json["training"]["rows"] = encoding.training->rows;
    json["training"]["columns"] = encoding.training->columns;
  }
  return json;
}

double read_finite(const OrderedJson& json, const char* key) {
  const auto number = json.at(key).get<double>();
  if (!std::isfinite(number)) throw Error(std::string(key) + " is not finite");
  return number;
}

double read_positive(const OrderedJson& json, const char* key) {
  const double number = read_finite(json, key);
  if (number <= 0) throw Error(std::string(key) + " is not positive");
  return number;
}

std::vector<std::string> read_distinct(const OrderedJson& json, const char* key) {
  auto texts = json.at(key).get<std::vector<std::string>>();
  if (std::set<std::string>(texts.begin(), texts.end()).size() != texts.size()) {
    throw Error(std::string(key) + " contains a duplicate text");
  }
  return texts;
}

Encoding encoding_of(const OrderedJson& json) {
  if (json.at("table_encoding").get<int>() != kVersion) {
    throw Error("its version is not " + std::to_string(kVersion));
  }
  Encoding encoding;
  const OrderedJson& label = json.at("label");
  encoding.label = label.at("column").get<std::string>();
  if (label.contains("classes")) {
    encoding.classes = read_distinct(label, "classes");
    if (encoding.classes.size() < 2) throw Error("the label has fewer than two classes");
  } else {
    encoding.label_mean = read_finite(label, "mean");
    encoding.label_std = read_positive(label, "std");
  }
  for (const OrderedJson& column : json.at("numbers")) {
    encoding.numbers.push_back({column.at("column").get<std::string>(), read_finite(column, "mean"),
                                read_positive(column, "std"), read_finite(column, "fill"),
                                column.at("indicator").get<bool>()});
  }
  for (const OrderedJson& column : json.at("categories")) {
    encoding.categories.push_back(
        {column.at("column").get<std::string>(), read_distinct(column, "values")});
  }
  if (json.contains("training")) {
    Fingerprint& training = encoding.training.emplace();
    training.rows = json.at("training").at("rows").get<std::int64_t>();
    training.columns = json.at("training").at("columns").get<std::map<std::string, std::string>>();
  }
  return encoding;
}

}  // namespace

std::int64_t Encoding::number_features() const {
  auto count = static_cast<std::int64_t>(numbers.size());
  for (const NumberColumn& column : numbers) count += column.indicator ? 1 : 0;
  return count;
}

std::vector<std::int64_t> Encoding::category_sizes() const {
  std::vector<std::int64_t> sizes;
  for (const CategoryColumn& column : categories) sizes.push_back(column.size());
  return sizes;
}

void save_encoding(const Encoding& encoding, const std::filesystem::path& file) {
  replace_file(file, json_of(encoding).dump(1) + "\n");
}

Encoding load_encoding(const std::filesystem::path& file) {
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;
  const std::string text = read_text_file(file, kMostBytes);
  const auto refuse = [&](const std::string& why) -> RunError {
    return RunError(file.string() + " is not the encoding of a table: " + why,
                    {.hint = "remove it to have it rebuilt from the training rows"});
  };
  try {
    return encoding_of(OrderedJson::parse(text));
  } catch (const OrderedJson::exception& failure) {
    throw refuse(failure.what());
  } catch (const Error& failure) {
    throw refuse(failure.what());
  }
}

}  // namespace trivet::tabular
