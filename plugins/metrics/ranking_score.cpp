// SPDX-License-Identifier: Apache-2.0
#include "ranking_score.h"

#include "probability.h"
#include "trivet/train/predictions.h"

namespace trivet::metrics {

RankingScore::RankingScore(const Config& config, std::string_view name)
    : name_(config.name.empty() ? name : config.name), positive_class_(config.positive_class) {}

void RankingScore::update_state(const Batch& batch, const NestedMap& outputs) {
  const Predictions predictions(batch, outputs);
  check_class(positive_class_, predictions, name_);
  for (std::int64_t i = 0; i < predictions.examples(); ++i) {
    if (predictions.weight(i) == 0) continue;
    any_ = true;
    ranking_.add(probability_of(positive_class_, predictions, i),
                 static_cast<double>(predictions.weight(i)),
                 predictions.label(i) == positive_class_);
  }
}

Logs RankingScore::result() const {
  Logs logs;
  logs.set(name_, any_ ? score(ranking_) : 0);
  return logs;
}

void RankingScore::reset_state() {
  ranking_.clear();
  any_ = false;
}

Value RankingScore::save_state() const {
  return ranking_.save_state();
}

void RankingScore::restore_state(const Value& state) {
  reset_state();
  merge(state);
}

void RankingScore::merge(const Value& state) {
  const std::string owner = "the saved state of metric " + name_;
  ranking_.merge(state, owner);
  any_ = any_ || !state.at("scores", owner).items().empty();
}

}  // namespace trivet::metrics
