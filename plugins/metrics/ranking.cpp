// SPDX-License-Identifier: Apache-2.0
#include "ranking.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "trivet/error.h"

namespace trivet::metrics {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// Calls visit(positives, negatives) with the weights of each group of equal scores, in the order of
// the examples.
template <class Examples, class Visit>
void for_groups(const Examples& examples, const Visit& visit) {
  for (std::size_t begin = 0, end = 0; begin < examples.size(); begin = end) {
    double positives = 0, negatives = 0;
    for (; end < examples.size() && examples[end].score == examples[begin].score; ++end) {
      (examples[end].positive ? positives : negatives) += static_cast<double>(examples[end].weight);
    }
    visit(positives, negatives);
  }
}

}  // namespace

void Ranking::add(double score, double weight, bool positive) {
  examples_.push_back({score, static_cast<float>(weight), positive});
}

double Ranking::positives() const {
  double sum = 0;
  for (const Example& example : examples_) {
    if (example.positive) sum += static_cast<double>(example.weight);
  }
  return sum;
}

// False if a score is NaN; else from the highest to the lowest.
bool Ranking::sorted(std::vector<Example>& examples) const {
  examples = examples_;
  const auto is_nan = [](const Example& example) { return std::isnan(example.score); };
  if (std::ranges::any_of(examples, is_nan)) return false;
  std::ranges::sort(examples, std::ranges::greater(), &Example::score);
  return true;
}

double Ranking::roc_auc() const {
  std::vector<Example> examples;
  if (!sorted(examples)) return kNone;
  double positives = 0, negatives = 0, wins = 0;
  for_groups(examples, [&](double more_positives, double more_negatives) {
    wins += more_negatives * (positives + more_positives / 2);
    positives += more_positives;
    negatives += more_negatives;
  });
  return positives > 0 && negatives > 0 ? wins / (positives * negatives) : kNone;
}

double Ranking::average_precision() const {
  std::vector<Example> examples;
  if (!sorted(examples)) return kNone;
  double positives = 0, all = 0, sum = 0;
  for_groups(examples, [&](double more_positives, double more_negatives) {
    positives += more_positives;
    all += more_positives + more_negatives;
    if (all > 0) sum += more_positives * positives / all;
  });
  return positives > 0 ? sum / positives : kNone;
}

Value Ranking::save_state() const {
  Value::Array scores, weights, positive;
  for (const Example& example : examples_) {
    scores.emplace_back(example.score);
    weights.emplace_back(static_cast<double>(example.weight));
    positive.emplace_back(example.positive);
  }
  return Value::table({{"scores", std::move(scores)},
                       {"weights", std::move(weights)},
                       {"positive", std::move(positive)}});
}

void Ranking::merge(const Value& state, const std::string& owner) {
  const Value::Array& scores = state.at("scores", owner).items();
  const Value::Array& weights = state.at("weights", owner).items();
  const Value::Array& positive = state.at("positive", owner).items();
  if (weights.size() != scores.size() || positive.size() != scores.size()) {
    throw Error(owner + " has lists of different lengths");
  }
  for (std::size_t i = 0; i < scores.size(); ++i) {
    add(scores[i].as_float(), weights[i].as_float(), positive[i].as_boolean());
  }
}

}  // namespace trivet::metrics
