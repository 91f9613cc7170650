// SPDX-License-Identifier: Apache-2.0
#include "scores.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>

#include "trivet/error.h"

namespace trivet::tabular {
namespace {

double read_saved(const Value& state, std::string_view key, std::string_view metric) {
  return state.at(key, "the saved state of metric " + std::string(metric)).as_float();
}

}  // namespace

RegressionScores::RegressionScores(const Config& config)
    : prefix_(config.name.empty() ? "" : config.name + "_"), scale_(config.scale) {}

void RegressionScores::update_state(const Batch& batch, const NestedMap& outputs) {
  const Tensor& logits = outputs.at("logits");
  const Tensor& label = batch.at("label");
  if (logits.rank() != 2 || logits.dim(1) != 1 || label.rank() != 1 ||
      label.dim(0) != logits.dim(0)) {
    throw Error("tabular/RegressionScores: expected logits [B, 1] and label [B], got " +
                logits.to_string() + " and " + label.to_string());
  }
  const HostArray<float> predicted(logits), labels(label);
  std::optional<HostArray<float>> weights;
  if (const Tensor* found = batch.find("weight")) weights.emplace(*found);
  for (std::int64_t i = 0; i < label.dim(0); ++i) {
    const double weight = weights ? static_cast<double>((*weights)[i]) : 1;
    if (weight == 0) continue;
    const auto y = static_cast<double>(labels[i]);
    const double error = static_cast<double>(predicted[i]) - y;
    sums_.weight += weight;
    sums_.absolute += weight * std::abs(error);
    sums_.squared += weight * error * error;
    sums_.labels += weight * y;
    sums_.squared_labels += weight * y * y;
  }
}

Logs RegressionScores::result() const {
  Logs logs;
  const double n = sums_.weight > 0 ? sums_.weight : 1;
  const double spread = sums_.squared_labels - sums_.labels * sums_.labels / n;
  logs.set(prefix_ + "rmse", scale_ * std::sqrt(sums_.squared / n));
  logs.set(prefix_ + "mae", scale_ * sums_.absolute / n);
  logs.set(prefix_ + "r2", spread > 0 ? 1 - sums_.squared / spread : 0);
  return logs;
}

Value RegressionScores::save_state() const {
  return Value::table({{"weight", sums_.weight},
                       {"absolute", sums_.absolute},
                       {"squared", sums_.squared},
                       {"labels", sums_.labels},
                       {"squared_labels", sums_.squared_labels}});
}

void RegressionScores::restore_state(const Value& state) {
  const auto read = [&](std::string_view key) {
    return read_saved(state, key, "RegressionScores");
  };
  sums_ = {read("weight"), read("absolute"), read("squared"), read("labels"),
           read("squared_labels")};
}

void RegressionScores::merge(const Value& state) {
  RegressionScores other{Config()};
  other.restore_state(state);
  sums_.weight += other.sums_.weight;
  sums_.absolute += other.sums_.absolute;
  sums_.squared += other.sums_.squared;
  sums_.labels += other.sums_.labels;
  sums_.squared_labels += other.sums_.squared_labels;
}

Accuracy::Accuracy(const Config& config) : name_(config.name.empty() ? "accuracy" : config.name) {}

void Accuracy::update_state(const Batch& batch, const NestedMap& outputs) {
  const Predictions predictions(batch, outputs);
  for (std::int64_t i = 0; i < predictions.examples(); ++i) {
    const auto weight = static_cast<double>(predictions.weight(i));
    if (weight == 0) continue;
    total_ += weight;
    if (predictions.rank_of_label(i) == 0) hits_ += weight;
  }
}

Logs Accuracy::result() const {
  Logs logs;
  logs.set(name_, total_ > 0 ? hits_ / total_ : 0);
  return logs;
}

Value Accuracy::save_state() const {
  return Value::table({{"hits", hits_}, {"total", total_}});
}

void Accuracy::restore_state(const Value& state) {
  hits_ = read_saved(state, "hits", name_);
  total_ = read_saved(state, "total", name_);
}

void Accuracy::merge(const Value& state) {
  hits_ += read_saved(state, "hits", name_);
  total_ += read_saved(state, "total", name_);
}

Value RocCurve::save_state() const {
  Value::Array scores, weights, second;
  for (const Example& example : examples_) {
    scores.emplace_back(static_cast<double>(example.score));
    weights.emplace_back(static_cast<double>(example.weight));
    second.emplace_back(example.second);
  }
  return Value::table({{"scores", std::move(scores)},
                       {"weights", std::move(weights)},
                       {"second", std::move(second)}});
}

void RocCurve::merge(const Value& state) {
  constexpr const char* kOwner = "the state of a ROC curve";
  const Value::Array& scores = state.at("scores", kOwner).items();
  const Value::Array& weights = state.at("weights", kOwner).items();
  const Value::Array& second = state.at("second", kOwner).items();
  if (weights.size() != scores.size() || second.size() != scores.size()) {
    throw Error(std::string(kOwner) + " has lists of different lengths");
  }
  for (std::size_t i = 0; i < scores.size(); ++i) {
    examples_.push_back({static_cast<float>(scores[i].as_float()),
                         static_cast<float>(weights[i].as_float()), second[i].as_boolean()});
  }
}

void RocCurve::add(const Predictions& predictions) {
  if (predictions.classes() != 2) {
    throw Error("a ROC curve needs two classes, not " + std::to_string(predictions.classes()));
  }
  for (std::int64_t i = 0; i < predictions.examples(); ++i) {
    if (predictions.weight(i) == 0) continue;
    examples_.push_back({predictions.logit(i, 1) - predictions.logit(i, 0), predictions.weight(i),
                         predictions.label(i) == 1});
  }
}

double RocCurve::area() const {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  std::vector<Example> sorted = examples_;
  if (std::ranges::any_of(sorted, [](const Example& e) { return std::isnan(e.score); })) {
    return kNone;
  }
  std::ranges::sort(sorted, {}, &Example::score);
  double first = 0, second = 0, wins = 0;  // weights so far, and weights of correctly ordered pairs
  for (std::size_t begin = 0, end = 0; begin < sorted.size(); begin = end) {
    double first_here = 0, second_here = 0;
    for (; end < sorted.size() && sorted[end].score == sorted[begin].score; ++end) {
      (sorted[end].second ? second_here : first_here) += static_cast<double>(sorted[end].weight);
    }
    wins += second_here * (first + first_here / 2);
    first += first_here;
    second += second_here;
  }
  return first > 0 && second > 0 ? wins / (first * second) : kNone;
}

}  // namespace trivet::tabular
