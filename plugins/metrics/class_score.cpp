// SPDX-License-Identifier: Apache-2.0
#include "class_score.h"

#include <algorithm>
#include <utility>

#include "probability.h"
#include "trivet/error.h"

namespace trivet::metrics {

void ClassScoreConfig::validate(Diagnostics& diagnostics) const {
  check_positive_class(average, positive_class != ClassScoreConfig().positive_class, diagnostics);
  if (threshold && average != Average::binary && !multi_label) {
    diagnostics.add("threshold", "is set, but average scores all classes",
                    "remove it, or set average = \"binary\"");
  }
}

ClassScore::ClassScore(const Config& config, std::string_view name)
    : name_(config.name.empty() ? name : config.name),
      average_(config.average),
      positive_class_(config.positive_class),
      threshold_(config.threshold),
      multi_label_(config.multi_label) {}

void ClassScore::update_state(const Batch& batch, const NestedMap& outputs) {
  const Predictions predictions(batch, outputs);
  if (average_ == Average::binary) check_class(positive_class_, predictions, name_);
  counts_.resize(std::max(counts_.size(), static_cast<std::size_t>(predictions.classes())));
  for (std::int64_t i = 0; i < predictions.examples(); ++i) {
    const auto weight = static_cast<double>(predictions.weight(i));
    if (weight == 0) continue;
    if (multi_label_) {
      count_labels(predictions, i);
    } else if (threshold_) {
      const bool told = probability_of(positive_class_, predictions, i) >= *threshold_;
      const bool truth = predictions.label(i) == positive_class_;
      // Other classes are one: any index but the positive one's.
      const std::int64_t other = positive_class_ == 0 ? 1 : 0;
      count(truth ? positive_class_ : other, told ? positive_class_ : other, weight);
    } else {
      count(predictions.label(i), predictions.predicted(i), weight);
    }
  }
}

void ClassScore::count_labels(const Predictions& predictions, std::int64_t example) {
  const auto weight = static_cast<double>(predictions.weight(example));
  for (std::int64_t c = 0; c < predictions.classes(); ++c) {
    const bool truth = predictions.share(example, c) >= 0.5F;
    const bool told = label_probability(c, predictions, example) >= threshold_.value_or(0.5);
    Counts& counts = of(c);
    if (truth) counts.truth += weight;
    if (told) counts.told += weight;
    if (truth && told) counts.right += weight;
  }
}

void ClassScore::count(std::int64_t truth, std::int64_t told, double weight) {
  of(truth).truth += weight;
  of(told).told += weight;
  if (truth == told) of(truth).right += weight;
}

ClassScore::Counts& ClassScore::of(std::int64_t c) {
  if (c < 0 || c >= std::ssize(counts_)) {
    throw Error("metric " + name_ + ": there are " + std::to_string(counts_.size()) +
                " classes, and no class " + std::to_string(c));
  }
  return counts_[static_cast<std::size_t>(c)];
}

double ClassScore::average() const {
  if (counts_.empty()) return 0;
  if (average_ == Average::binary) return score(counts_[static_cast<std::size_t>(positive_class_)]);
  Counts sums;
  double total = 0, weights = 0;
  for (const Counts& own : counts_) {
    sums.right += own.right;
    sums.told += own.told;
    sums.truth += own.truth;
    // scikit-learn does not know a class that does not occur, but knows all labels.
    if (own.told == 0 && own.truth == 0 && !multi_label_) continue;
    const double weight = average_ == Average::weighted ? own.truth : 1;
    total += weight * score(own);
    weights += weight;
  }
  if (average_ == Average::micro) return score(sums);
  return weights > 0 ? total / weights : 0;
}

Logs ClassScore::result() const {
  Logs logs;
  logs.set(name_, average());
  return logs;
}

Value ClassScore::save_state() const {
  Value::Array right, told, truth;
  for (const Counts& own : counts_) {
    right.emplace_back(own.right);
    told.emplace_back(own.told);
    truth.emplace_back(own.truth);
  }
  return Value::table(
      {{"right", std::move(right)}, {"told", std::move(told)}, {"true", std::move(truth)}});
}

void ClassScore::restore_state(const Value& state) {
  counts_.clear();
  merge(state);
}

void ClassScore::merge(const Value& state) {
  const std::string owner = "the saved state of metric " + name_;
  const Value::Array& right = state.at("right", owner).items();
  const Value::Array& told = state.at("told", owner).items();
  const Value::Array& truth = state.at("true", owner).items();
  const bool fits = counts_.empty() || right.empty() || right.size() == counts_.size();
  if (!fits || told.size() != right.size() || truth.size() != right.size()) {
    throw Error(owner + " has other classes");
  }
  counts_.resize(std::max(counts_.size(), right.size()));
  for (std::size_t i = 0; i < right.size(); ++i) {
    counts_[i].right += right[i].as_float();
    counts_[i].told += told[i].as_float();
    counts_[i].truth += truth[i].as_float();
  }
}

double Precision::score(const Counts& counts) const {
  return counts.told > 0 ? counts.right / counts.told : 0;
}

double Recall::score(const Counts& counts) const {
  return counts.truth > 0 ? counts.right / counts.truth : 0;
}

double F1::score(const Counts& counts) const {
  const double both = counts.told + counts.truth;
  return both > 0 ? 2 * counts.right / both : 0;
}

}  // namespace trivet::metrics
