// SPDX-License-Identifier: Apache-2.0
#include "lm/preferences/preference_metrics.h"

#include <cmath>
#include <optional>
#include <string>

#include "trivet/error.h"
#include "trivet/ops/host_array.h"

namespace trivet::lm {
namespace {

// The first two are computed here; the others are outputs of the model, whose rewards come first.
constexpr std::array<const char*, 6> kMeans = {
    "reward_accuracy", "p_correct_ranking",      "chosen_reward",
    "rejected_reward", "chosen_log_probability", "rejected_log_probability"};
constexpr std::size_t kComputed = 2;
constexpr std::string_view kPreferenceState = "the saved state of the preference metrics";

}  // namespace

void PreferenceMetrics::update_state(const Batch& batch, const NestedMap& outputs) {
  std::vector<std::vector<float>> columns;
  for (std::size_t i = kComputed; i < kMeans.size(); ++i) {
    columns.push_back(outputs.at(kMeans[i]).to_host<float>());
  }
  std::optional<HostArray<float>> weights;
  if (const Tensor* given = batch.find("weight")) weights.emplace(*given);
  for (std::size_t row = 0; row < columns[0].size(); ++row) {
    const double weight = weights ? (*weights)[static_cast<std::int64_t>(row)] : 1;
    if (weight == 0) continue;
    const double margin = static_cast<double>(columns[0][row]) - columns[1][row];
    sums_[0] += margin > 0 ? weight : 0;
    sums_[1] += weight / (1 + std::exp(-margin));
    for (std::size_t i = 0; i < columns.size(); ++i) {
      sums_[i + kComputed] += weight * columns[i][row];
    }
    weight_ += weight;
  }
}

Logs PreferenceMetrics::result() const {
  Logs logs;
  for (std::size_t i = 0; i < kMeans.size() && weight_ > 0; ++i) {
    logs.set(kMeans[i], sums_[i] / weight_);
  }
  if (weight_ > 0) logs.set("reward_margin", (sums_[2] - sums_[3]) / weight_);
  logs.set("num_pairs", weight_);
  return logs;
}

void PreferenceMetrics::reset_state() {
  sums_ = {};
  weight_ = 0;
}

Value PreferenceMetrics::save_state() const {
  return Value::table({{"sums", Value::Array(sums_.begin(), sums_.end())}, {"weight", weight_}});
}

void PreferenceMetrics::restore_state(const Value& state) {
  const Value::Array& sums = state.at("sums", kPreferenceState).items();
  if (sums.size() != sums_.size()) {
    throw Error("preference metrics: the saved state has other sums");
  }
  for (std::size_t i = 0; i < sums.size(); ++i) sums_[i] = sums[i].as_float();
  weight_ = state.at("weight", kPreferenceState).as_float();
}

void PreferenceMetrics::merge(const Value& state) {
  const std::array<double, 6> sums = sums_;
  const double weight = weight_;
  restore_state(state);
  for (std::size_t i = 0; i < sums.size(); ++i) sums_[i] += sums[i];
  weight_ += weight;
}

}  // namespace trivet::lm
