// SPDX-License-Identifier: Apache-2.0
#include "lm/metrics/token_metrics.h"

#include <cmath>
#include <numbers>
#include <string>

#include "trivet/ops/host_array.h"

namespace trivet::lm {

TokenMetrics::TokenMetrics(const Config& config)
    : accuracy_(config.accuracy), per_byte_(config.bits_per_byte) {}

void TokenMetrics::update_state(const Batch& batch, const NestedMap& outputs) {
  const Tensor& losses = outputs.at("per_example_xent");
  const HostArray<float> xent(losses), weights(batch.at("weights"));
  for (std::int64_t i = 0; i < losses.size(); ++i) {
    xent_ += double{weights[i]} * xent[i];
    weight_ += weights[i];
  }
  if (const Tensor* bytes = batch.find("label_bytes")) {
    const HostArray<std::int32_t> of_labels(*bytes);
    for (std::int64_t i = 0; i < losses.size(); ++i) {
      bytes_ += weights[i] > 0 ? of_labels[i] : 0;
    }
  }
  if (const Tensor* predicted = outputs.find("per_example_argmax")) {
    const HostArray<std::int32_t> classes(*predicted), labels(batch.at("labels"));
    for (std::int64_t i = 0; i < losses.size(); ++i) {
      correct_ += classes[i] == labels[i] ? weights[i] : 0;
      judged_ += weights[i];
    }
  }
}

Logs TokenMetrics::result() const {
  Logs logs;
  if (weight_ > 0) logs.set("log_pplx", xent_ / weight_);
  if (per_byte_ && bytes_ > 0) logs.set("bits_per_byte", xent_ / std::numbers::ln2 / bytes_);
  if (judged_ > 0) logs.set(accuracy_, correct_ / judged_);
  logs.set("num_predictions", weight_);
  return logs;
}

void TokenMetrics::reset_state() {
  xent_ = weight_ = correct_ = judged_ = bytes_ = 0;
}

Value TokenMetrics::save_state() const {
  return Value::table({{"xent", xent_},
                       {"weight", weight_},
                       {"correct", correct_},
                       {"judged", judged_},
                       {"bytes", bytes_}});
}

void TokenMetrics::restore_state(const Value& state) {
  const auto number = [&](const char* name) {
    return state.at(name, "the saved state of the token metrics").as_float();
  };
  xent_ = number("xent");
  weight_ = number("weight");
  correct_ = number("correct");
  judged_ = number("judged");
  bytes_ = number("bytes");
}

void TokenMetrics::merge(const Value& state) {
  TokenMetrics other{Config()};
  other.restore_state(state);
  xent_ += other.xent_;
  weight_ += other.weight_;
  correct_ += other.correct_;
  judged_ += other.judged_;
  bytes_ += other.bytes_;
}

}  // namespace trivet::lm
