// SPDX-License-Identifier: Apache-2.0
#include "metrics.h"

#include <utility>

#include "trivet/train/predictions.h"

namespace trivet::vision {
namespace {

std::string name_or(const std::string& name, std::string otherwise) {
  return name.empty() ? std::move(otherwise) : name;
}

}  // namespace

HitRate::HitRate(std::string name, std::int64_t k) : name_(std::move(name)), k_(k) {}

void HitRate::update_state(const Batch& batch, const NestedMap& outputs) {
  const Predictions predictions(batch, outputs);
  for (std::int64_t i = 0; i < predictions.examples(); ++i) {
    const double weight = predictions.weight(i);
    if (weight == 0) continue;
    total_ += weight;
    if (predictions.rank_of_label(i) < k_) hits_ += weight;
  }
}

Logs HitRate::result() const {
  Logs logs;
  logs.set(name_, total_ > 0 ? hits_ / total_ : 0);
  return logs;
}

void HitRate::reset_state() {
  hits_ = total_ = 0;
}

Value HitRate::save_state() const {
  return Value::table({{"hits", hits_}, {"total", total_}});
}

void HitRate::restore_state(const Value& state) {
  const std::string owner = "the saved state of metric " + name_;
  hits_ = state.at("hits", owner).as_float();
  total_ = state.at("total", owner).as_float();
}

void HitRate::merge(const Value& state) {
  HitRate other(name_, k_);
  other.restore_state(state);
  hits_ += other.hits_;
  total_ += other.total_;
}

Accuracy::Accuracy(const Config& config) : HitRate(name_or(config.name, "accuracy"), 1) {}

TopK::TopK(const Config& config)
    : HitRate(name_or(config.name, "top_" + std::to_string(config.k) + "_accuracy"), config.k) {}

}  // namespace trivet::vision
