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

void HitShare::add(double weight, double hits) {
  total_ += weight;
  hits_ += hits;
}

Logs HitShare::result() const {
  Logs logs;
  logs.set(name_, total_ > 0 ? hits_ / total_ : 0);
  return logs;
}

void HitShare::reset_state() {
  hits_ = total_ = 0;
}

Value HitShare::save_state() const {
  return Value::table({{"hits", hits_}, {"total", total_}});
}

void HitShare::restore_state(const Value& state) {
  const std::string owner = "the saved state of metric " + name_;
  const double hits = state.at("hits", owner).as_float();
  total_ = state.at("total", owner).as_float();
  hits_ = hits;
}

void HitShare::merge(const Value& state) {
  const double hits = hits_, total = total_;
  restore_state(state);
  add(total, hits);
}

void HitRate::update_state(const Batch& batch, const NestedMap& outputs) {
  const Predictions predictions(batch, outputs);
  for (std::int64_t i = 0; i < predictions.examples(); ++i) {
    const auto weight = static_cast<double>(predictions.weight(i));
    if (weight > 0) add(weight, predictions.rank_of_label(i) < k_ ? weight : 0);
  }
}

Accuracy::Accuracy(const Config& config) : HitRate(name_or(config.name, "accuracy"), 1) {}

TopK::TopK(const Config& config)
    : HitRate(name_or(config.name, "top_" + std::to_string(config.k) + "_accuracy"), config.k) {}

BinaryAccuracy::BinaryAccuracy(const Config& config)
    : HitShare(name_or(config.name, "binary_accuracy")) {}

void BinaryAccuracy::update_state(const Batch& batch, const NestedMap& outputs) {
  const Predictions predictions(batch, outputs);
  const double each = 1 / static_cast<double>(predictions.classes());
  for (std::int64_t i = 0; i < predictions.examples(); ++i) {
    const auto weight = static_cast<double>(predictions.weight(i));
    std::int64_t right = 0;
    for (std::int64_t c = 0; c < predictions.classes(); ++c) {
      right += (predictions.logit(i, c) >= 0) == (predictions.share(i, c) >= 0.5F) ? 1 : 0;
    }
    add(weight, weight * each * static_cast<double>(right));
  }
}

}  // namespace trivet::vision
