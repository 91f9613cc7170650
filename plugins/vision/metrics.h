// SPDX-License-Identifier: Apache-2.0
// Metrics of classifiers. They read "logits" from the model's outputs and "label" (and "weight")
// from the batch.
#pragma once

#include <string>
#include <utility>

#include "trivet/metric.h"

namespace trivet::vision {

struct AccuracyConfig : MetricConfig {};
TRIVET_CONFIG(AccuracyConfig, trivet::MetricConfig)

struct BinaryAccuracyConfig : MetricConfig {};
TRIVET_CONFIG(BinaryAccuracyConfig, trivet::MetricConfig)

struct TopKConfig : MetricConfig {
  std::int64_t k = 5;
};
TRIVET_CONFIG(TopKConfig, trivet::MetricConfig,
              (k, "The label must be among the k largest logits.", at_least(1)))

// Weighted hits, as a share of all. 0 before the first example.
class HitShare : public Metric {
 public:
  explicit HitShare(std::string name) : name_(std::move(name)) {}
  Logs result() const override;
  void reset_state() override;
  Value save_state() const override;
  void restore_state(const Value& state) override;
  void merge(const Value& state) override;

 protected:
  void add(double weight, double hits);

 private:
  std::string name_;
  double hits_ = 0, total_ = 0;
};

// The weighted share of examples whose label is among the k largest logits. Of equal logits the
// lower class counts as larger.
class HitRate : public HitShare {
 public:
  HitRate(std::string name, std::int64_t k) : HitShare(std::move(name)), k_(k) {}
  void update_state(const Batch& batch, const NestedMap& outputs) override;

 private:
  std::int64_t k_;
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

// Named "binary_accuracy": for labels f32 [B, classes], the share of classes for which the sigmoid
// of the logit is on the right side of 0.5 (Keras' BinaryAccuracy).
class BinaryAccuracy final : public HitShare {
 public:
  using Config = BinaryAccuracyConfig;
  explicit BinaryAccuracy(const Config& config);
  void update_state(const Batch& batch, const NestedMap& outputs) override;
};

}  // namespace trivet::vision
