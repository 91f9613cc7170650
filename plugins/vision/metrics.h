// SPDX-License-Identifier: Apache-2.0
// Metrics of classifiers. They read "logits" from the model's outputs and "label" (and "weight")
// from the batch.
#pragma once

#include <string>

#include "trivet/metric.h"

namespace trivet::vision {

struct AccuracyConfig : MetricConfig {};
TRIVET_CONFIG(AccuracyConfig, trivet::MetricConfig)

struct TopKConfig : MetricConfig {
  std::int64_t k = 5;
};
TRIVET_CONFIG(TopKConfig, trivet::MetricConfig,
              (k, "The label must be among the k largest logits.", at_least(1)))

// The weighted share of examples whose label is among the k largest logits. Of equal logits the
// lower class counts as larger. 0 before the first example.
class HitRate : public Metric {
 public:
  HitRate(std::string name, std::int64_t k);
  void update_state(const Batch& batch, const NestedMap& outputs) override;
  Logs result() const override;
  void reset_state() override;
  Value save_state() const override;
  void restore_state(const Value& state) override;
  void merge(const Value& state) override;

 private:
  std::string name_;
  std::int64_t k_;
  double hits_ = 0, total_ = 0;
};

// Named "accuracy".
class Accuracy final : public HitRate {
 public:
  using Config = AccuracyConfig;
  explicit Accuracy(const Config& config);
};

// Named "top_5_accuracy", after its k.
class TopK final : public HitRate {
 public:
  using Config = TopKConfig;
  explicit TopK(const Config& config);
};

}  // namespace trivet::vision
