// SPDX-License-Identifier: Apache-2.0
#include "lm/text_metrics/mean_score.h"

#include <algorithm>

namespace trivet::lm {

MeanScore::MeanScore(const TextMetricConfig& config, std::string_view name)
    : name_(config.name.empty() ? name : config.name) {}

void MeanScore::add(std::string_view decoded, std::span<const std::string> references) {
  double best = 0;
  for (const std::string& reference : references) best = std::max(best, score(decoded, reference));
  sum_ += best;
  ++examples_;
}

Logs MeanScore::result() const {
  Logs logs;
  logs.set(name_, examples_ > 0 ? sum_ / static_cast<double>(examples_) : 0);
  return logs;
}

void MeanScore::reset_state() {
  sum_ = 0;
  examples_ = 0;
}

Value MeanScore::save_state() const {
  return Value::table({{"sum", sum_}, {"examples", examples_}});
}

void MeanScore::merge(const Value& state) {
  const std::string owner = "the state of the text metric " + name_;
  sum_ += state.at("sum", owner).as_float();
  examples_ += state.at("examples", owner).as_integer();
}

}  // namespace trivet::lm
