// SPDX-License-Identifier: Apache-2.0
#include "trivet/extensions/predictor.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "trivet/error.h"
#include "trivet/ops/host_array.h"

namespace trivet {

namespace {

// Checks the names; without any, a class is its number.
class ClassNames {
 public:
  ClassNames(std::span<const std::string> names, std::size_t classes) : names_(names) {
    if (names.empty() || names.size() == classes) return;
    throw Error("there are " + std::to_string(names.size()) + " names for " +
                std::to_string(classes) + " classes");
  }
  std::string operator[](std::size_t c) const {
    return names_.empty() ? std::to_string(c) : names_[c];
  }

 private:
  std::span<const std::string> names_;
};

Value label_columns(std::span<const float> logits, const ClassNames& names) {
  Value probabilities = Value::table({});
  Value::Array classes;
  for (std::size_t c = 0; c < logits.size(); ++c) {
    const double probability = 1 / (1 + std::exp(-static_cast<double>(logits[c])));
    probabilities.set(names[c], probability);
    if (probability >= 0.5) classes.emplace_back(names[c]);
  }
  return Value::table(
      {{"classes", std::move(classes)}, {"probabilities", std::move(probabilities)}});
}

}  // namespace

Value class_columns(std::span<const float> logits, std::span<const std::string> given_names) {
  if (logits.empty()) throw Error("no logit to predict a class from");
  const ClassNames names(given_names, logits.size());
  const double most = static_cast<double>(*std::ranges::max_element(logits));
  std::vector<double> shares(logits.size());
  double sum = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    shares[i] = std::exp(static_cast<double>(logits[i]) - most);
    sum += shares[i];
  }
  Value probabilities = Value::table({});
  for (std::size_t i = 0; i < shares.size(); ++i) probabilities.set(names[i], shares[i] / sum);
  const auto best = static_cast<std::size_t>(std::ranges::max_element(logits) - logits.begin());
  return Value::table({{"class", names[best]},
                       {"probability", shares[best] / sum},
                       {"probabilities", std::move(probabilities)}});
}

namespace {

// One value for each row; null for rows of weight 0.
template <class Columns>
std::vector<Value> each_row(const Batch& batch, std::int64_t rows, const Columns& columns) {
  std::optional<HostArray<float>> weights;
  if (const Tensor* weight = batch.find("weight")) {
    if (weight->size() != rows) {
      throw Error("the batch has " + std::to_string(weight->size()) + " weights for " +
                  std::to_string(rows) + " rows");
    }
    weights.emplace(*weight);
  }
  std::vector<Value> values(static_cast<std::size_t>(rows));
  for (std::int64_t row = 0; row < rows; ++row) {
    if (weights && (*weights)[row] == 0) continue;
    values[static_cast<std::size_t>(row)] = columns(row);
  }
  return values;
}

}  // namespace

std::vector<Value> class_predictions(const Batch& batch, const Tensor& logits,
                                     std::span<const std::string> names) {
  if (logits.rank() != 2) throw Error("expected logits [B, classes], got " + logits.to_string());
  const HostArray<float> numbers(logits);
  const auto classes = static_cast<std::size_t>(logits.dim(1));
  return each_row(batch, logits.dim(0), [&](std::int64_t row) {
    return class_columns({numbers.data() + row * logits.dim(1), classes}, names);
  });
}

std::vector<Value> label_predictions(const Batch& batch, const Tensor& logits,
                                     std::span<const std::string> given_names) {
  if (logits.rank() != 2) throw Error("expected logits [B, classes], got " + logits.to_string());
  const HostArray<float> numbers(logits);
  const auto classes = static_cast<std::size_t>(logits.dim(1));
  const ClassNames names(given_names, classes);
  return each_row(batch, logits.dim(0), [&](std::int64_t row) {
    return label_columns({numbers.data() + row * logits.dim(1), classes}, names);
  });
}

std::vector<Value> number_predictions(const Batch& batch, const Tensor& values,
                                      std::string_view column) {
  const bool is_column = values.rank() == 2 && values.dim(1) == 1;
  if (values.rank() != 1 && !is_column) {
    throw Error("expected numbers [B], got " + values.to_string());
  }
  const HostArray<float> numbers(values);
  return each_row(batch, values.dim(0), [&](std::int64_t row) {
    Value columns = Value::table({});
    columns.set(std::string(column), static_cast<double>(numbers[row]));
    return columns;
  });
}

}  // namespace trivet
