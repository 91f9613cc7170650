// SPDX-License-Identifier: Apache-2.0
#include "confusion_matrix.h"

#include <array>
#include <charconv>
#include <string>

#include "trivet/error.h"
#include "trivet/os/file.h"

namespace trivet::vision {
namespace {

// All digits without an exponent, so that large counts stay exact and any reader accepts them.
std::string number_text(double number) {
  std::array<char, 400> text{};  // the largest double has 309 digits
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  return {text.data(), end.ptr};
}

}  // namespace

ConfusionMatrix::ConfusionMatrix(std::int64_t classes) : classes_(classes) {
  if (classes < 0 || classes > kMostClasses) {
    throw Error("a confusion matrix of " + std::to_string(classes) + " classes is too large, the " +
                "limit is " + std::to_string(kMostClasses));
  }
  counts_.resize(static_cast<std::size_t>(classes * classes));
}

void ConfusionMatrix::add(const Predictions& predictions) {
  if (predictions.classes() != classes_) {
    throw Error("a confusion matrix of " + std::to_string(classes_) +
                " classes was given predictions of " + std::to_string(predictions.classes()));
  }
  for (std::int64_t i = 0; i < predictions.examples(); ++i) {
    const std::int64_t label = predictions.label(i);
    if (predictions.weight(i) == 0 || label < 0 || label >= classes_) continue;
    at(label, predictions.predicted(i)) += predictions.weight(i);
  }
}

Logs ConfusionMatrix::summary() const {
  double precision = 0, recall = 0, occurring = 0;
  for (std::int64_t c = 0; c < classes_; ++c) {
    double labeled = 0, predicted = 0;
    for (std::int64_t other = 0; other < classes_; ++other) {
      labeled += count(c, other);
      predicted += count(other, c);
    }
    if (labeled == 0) continue;
    occurring += 1;
    recall += count(c, c) / labeled;
    precision += predicted > 0 ? count(c, c) / predicted : 0;
  }
  Logs logs;
  logs.set("macro_precision", occurring > 0 ? precision / occurring : 0);
  logs.set("macro_recall", occurring > 0 ? recall / occurring : 0);
  return logs;
}

void ConfusionMatrix::write_csv(const std::filesystem::path& file) const {
  std::string text = "label";
  for (std::int64_t c = 0; c < classes_; ++c) text += ",predicted_" + std::to_string(c);
  text += '\n';
  for (std::int64_t label = 0; label < classes_; ++label) {
    text += std::to_string(label);
    for (std::int64_t c = 0; c < classes_; ++c) text += ',' + number_text(count(label, c));
    text += '\n';
  }
  replace_file(file, text);
}

Value ConfusionMatrix::save_state() const {
  return Value::table({{"counts", Value::Array(counts_.begin(), counts_.end())}});
}

void ConfusionMatrix::merge(const Value& state) {
  const Value::Array& counts = state.at("counts", "the state of a confusion matrix").items();
  if (counts.size() != counts_.size()) {
    throw Error("the state of a confusion matrix is not of " + std::to_string(classes_) +
                " classes");
  }
  for (std::size_t i = 0; i < counts.size(); ++i) counts_[i] += counts[i].as_float();
}

}  // namespace trivet::vision
