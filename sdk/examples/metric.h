// SPDX-License-Identifier: Apache-2.0
// RSquared: the coefficient of determination, 1 - sum (y - prediction)^2 / sum (y - mean of y)^2,
// over all numbers of all examples since the last reset. A mean of the batches' own values would be
// another number: each batch has a mean of y of its own. Mean and squares are updated one number at
// a time (West 1979, "Updating mean and variance estimates: an improved method"), so that a mean
// far from 0 costs no digits.
#pragma once

#include <string>
#include <vector>

#include <trivet/error.h>
#include <trivet/metric.h>

namespace acme {

struct RSquaredConfig : trivet::MetricConfig {};
TRIVET_CONFIG(RSquaredConfig, trivet::MetricConfig)

class RSquared final : public trivet::Metric {
 public:
  using Config = RSquaredConfig;

  explicit RSquared(const Config& config) : name_(config.name.empty() ? "r2" : config.name) {}

  // [methods]
  void update_state(const trivet::Batch& batch, const trivet::NestedMap& outputs) override {
    const std::vector<float> y = batch.at("y").to_host<float>();
    const std::vector<float> prediction = outputs.at("prediction").to_host<float>();
    const std::vector<float> weights = batch.at("weight").to_host<float>();
    if (weights.empty()) return;
    if (y.size() != prediction.size() || y.size() % weights.size() != 0) {
      throw trivet::Error("metric " + name_ + ": y, prediction and weight do not fit together");
    }
    const std::size_t per_example = y.size() / weights.size();
    for (std::size_t i = 0; i < y.size(); ++i) add(y[i], prediction[i], weights[i / per_example]);
  }

  trivet::Logs result() const override {
    trivet::Logs logs;
    logs.set(name_, spread_ > 0 ? 1 - errors_ / spread_ : 0);
    return logs;
  }

  void reset_state() override { weight_ = mean_ = spread_ = errors_ = 0; }

  trivet::Value save_state() const override {
    return trivet::Value::table(
        {{"weight", weight_}, {"mean", mean_}, {"spread", spread_}, {"errors", errors_}});
  }

  void restore_state(const trivet::Value& state) override {
    weight_ = number(state, "weight");
    mean_ = number(state, "mean");
    spread_ = number(state, "spread");
    errors_ = number(state, "errors");
  }

  void merge(const trivet::Value& state) override {
    RSquared other{Config()};
    other.restore_state(state);
    const double weight = weight_ + other.weight_;
    if (weight == 0) return;
    // Chan, Golub and LeVeque 1979: the spread of two parts around their common mean.
    const double apart = other.mean_ - mean_;
    spread_ += other.spread_ + apart * apart * weight_ * other.weight_ / weight;
    mean_ += apart * other.weight_ / weight;
    errors_ += other.errors_;
    weight_ = weight;
  }
  // [/methods]

 private:
  // [add]
  void add(double y, double prediction, double weight) {
    if (weight == 0) return;
    weight_ += weight;
    const double before = y - mean_;
    mean_ += weight / weight_ * before;
    spread_ += weight * before * (y - mean_);
    errors_ += weight * (y - prediction) * (y - prediction);
  }
  // [/add]

  double number(const trivet::Value& state, std::string_view key) const {
    const trivet::Value* found = state.find(key);
    if (found != nullptr) return found->as_float();
    throw trivet::Error("metric " + name_ + ": the saved state has no " + std::string(key));
  }

  std::string name_;
  double weight_ = 0, mean_ = 0, spread_ = 0, errors_ = 0;
};

}  // namespace acme
