// SPDX-License-Identifier: Apache-2.0
// Metrics of predictions for tables.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "trivet/metric.h"
#include "trivet/task.h"
#include "trivet/train/predictions.h"

namespace trivet::tabular {

struct RegressionScoresConfig : MetricConfig {
  double scale = 1;
};
TRIVET_CONFIG(RegressionScoresConfig, trivet::MetricConfig,
              (scale, "Unit of the scores: the standard deviation of standardized labels.",
               more_than(0)))

// Scores "logits" [B, 1] against "label" f32 [B], weighted by "weight":
//
//   rmse  scale * sqrt(mean of squared errors)
//   mae   scale * mean of absolute errors
//   r2    1 - sum of squared errors / sum of squared distances of the labels from their mean; 0
//         if all labels are equal
//
// Each name has a prefix: NAME_rmse.
class RegressionScores final : public Metric {
 public:
  using Config = RegressionScoresConfig;
  explicit RegressionScores(const Config& config);
  void update_state(const Batch& batch, const NestedMap& outputs) override;
  Logs result() const override;
  void reset_state() override { sums_ = {}; }
  Value save_state() const override;
  void restore_state(const Value& state) override;
  void merge(const Value& state) override;

 private:
  struct Sums {
    double weight = 0, absolute = 0, squared = 0, labels = 0, squared_labels = 0;
  };
  std::string prefix_;
  double scale_;
  Sums sums_;
};

struct AccuracyConfig : MetricConfig {};
TRIVET_CONFIG(AccuracyConfig, trivet::MetricConfig)

// The weighted share of examples whose label has the largest of "logits" [B, classes]; the first of
// equal ones counts. 0 before the first example.
class Accuracy final : public Metric {
 public:
  using Config = AccuracyConfig;
  explicit Accuracy(const Config& config);
  void update_state(const Batch& batch, const NestedMap& outputs) override;
  Logs result() const override;
  void reset_state() override { hits_ = total_ = 0; }
  Value save_state() const override;
  void restore_state(const Value& state) override;
  void merge(const Value& state) override;

 private:
  std::string name_;
  double hits_ = 0, total_ = 0;
};

// The scores of all examples of an evaluation with two classes, for the area under the ROC curve:
// the probability that a random example of the second class scores higher than one of the first,
// ties counting half (Mann and Whitney 1947). Exact, so it stores 16 bytes per example.
class RocCurve final : public AggregatedLogs {
 public:
  // Throws Error unless the predictions have two classes.
  void add(const Predictions& predictions);
  // NaN if one of the classes does not occur or a score is NaN.
  double area() const;
  Value save_state() const override;
  void merge(const Value& state) override;

 private:
  struct Example {
    float score;  // the second class's logit minus the first's
    float weight;
    bool second;
  };
  std::vector<Example> examples_;
};

}  // namespace trivet::tabular
