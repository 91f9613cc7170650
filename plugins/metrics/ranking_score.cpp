// SPDX-License-Identifier: Apache-2.0
#include "ranking_score.h"

#include <algorithm>
#include <utility>

#include "probability.h"
#include "trivet/error.h"

namespace trivet::metrics {

void RankingScoreConfig::validate(Diagnostics& diagnostics) const {
  check_positive_class(average, positive_class != RankingScoreConfig().positive_class, diagnostics);
}

RankingScore::RankingScore(const Config& config, std::string_view name)
    : name_(config.name.empty() ? name : config.name),
      average_(config.average),
      positive_class_(config.positive_class),
      multi_label_(config.multi_label) {}

void RankingScore::update_state(const Batch& batch, const NestedMap& outputs) {
  const Predictions predictions(batch, outputs);
  if (average_ == Average::binary) check_class(positive_class_, predictions, name_);
  for (std::int64_t i = 0; i < predictions.examples(); ++i) {
    if (predictions.weight(i) == 0) continue;
    if (average_ == Average::binary) {
      add(predictions, i, positive_class_);
    } else {
      for (std::int64_t c = 0; c < predictions.classes(); ++c) add(predictions, i, c);
    }
  }
}

void RankingScore::add(const Predictions& predictions, std::int64_t example, std::int64_t c) {
  const bool one_ranking = average_ == Average::binary || average_ == Average::micro;
  const double probability = multi_label_ ? label_probability(c, predictions, example)
                                          : probability_of(c, predictions, example);
  const bool truth =
      multi_label_ ? predictions.share(example, c) >= 0.5F : predictions.label(example) == c;
  of(one_ranking ? 0 : static_cast<std::size_t>(c))
      .add(probability, static_cast<double>(predictions.weight(example)), truth);
}

Ranking& RankingScore::of(std::size_t index) {
  rankings_.resize(std::max(rankings_.size(), index + 1));
  return rankings_[index];
}

Logs RankingScore::result() const {
  double total = 0, weights = 0;
  for (const Ranking& ranking : rankings_) {
    const double weight = average_ == Average::weighted ? ranking.positives() : 1;
    if (weight == 0) continue;
    total += weight * score(ranking);
    weights += weight;
  }
  Logs logs;
  logs.set(name_, weights > 0 ? total / weights : 0);
  return logs;
}

void RankingScore::reset_state() {
  rankings_.clear();
}

Value RankingScore::save_state() const {
  Value::Array classes;
  for (const Ranking& ranking : rankings_) classes.push_back(ranking.save_state());
  return Value::table({{"rankings", std::move(classes)}});
}

void RankingScore::restore_state(const Value& state) {
  reset_state();
  merge(state);
}

void RankingScore::merge(const Value& state) {
  const std::string owner = "the saved state of metric " + name_;
  const Value::Array& rankings = state.at("rankings", owner).items();
  if (!rankings_.empty() && !rankings.empty() && rankings.size() != rankings_.size()) {
    throw Error(owner + " has other classes");
  }
  for (std::size_t i = 0; i < rankings.size(); ++i) of(i).merge(rankings[i], owner);
}

}  // namespace trivet::metrics
