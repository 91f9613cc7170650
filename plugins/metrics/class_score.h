// SPDX-License-Identifier: Apache-2.0
// Precision, Recall and F1 of a classifier: they read "logits" f32 [B, classes] of the model's
// outputs and "label" i32 [B] (and "weight" f32 [B]) of the batch. The definitions are those of
// scikit-learn (precision_recall_fscore_support with zero_division = 0):
//
//   precision = TP / (TP + FP),  recall = TP / (TP + FN),  f1 = 2 TP / (2 TP + FP + FN)
//
// of a class, by the weights of examples; 0 where it is 0 / 0. Averages: macro is the plain mean
// over the classes that were true or predicted, weighted the mean by how often each was true, micro
// the score of the sums over classes.
//
// With multi_label, "label" is f32 [B, classes] and every class is predicted by itself, by the
// sigmoid of its logit; macro is the mean over all classes then, as in scikit-learn.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "average.h"
#include "trivet/metric.h"
#include "trivet/train/predictions.h"

namespace trivet::metrics {

struct ClassScoreConfig : MetricConfig {
  Average average = Average::binary;
  std::int64_t positive_class = 1;
  std::optional<double> threshold;
  bool multi_label = false;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(ClassScoreConfig, trivet::MetricConfig,
              (average,
               "binary: the score of positive_class; macro, micro and weighted: of all classes, as "
               "scikit-learn averages."),
              (positive_class, "Class that is scored, with average = \"binary\".", at_least(0)),
              (threshold,
               "An example counts as positive_class if its probability is at least this. Not set: "
               "if its logit is the largest; with multi_label, 0.5 for every class.",
               at_least(0), at_most(1)),
              (multi_label, "Several classes may be right: labels are 0 or 1 for each class."))

class ClassScore : public Metric {
 public:
  using Config = ClassScoreConfig;

  void update_state(const Batch& batch, const NestedMap& outputs) final;
  Logs result() const final;
  void reset_state() final { counts_.clear(); }
  Value save_state() const final;
  void restore_state(const Value& state) final;
  void merge(const Value& state) final;

 protected:
  // Of one class, or sums over classes.
  struct Counts {
    double right = 0, told = 0, truth = 0;
  };
  // `name` unless the config has one.
  ClassScore(const Config& config, std::string_view name);
  // 0 where it is 0 / 0.
  virtual double score(const Counts& counts) const = 0;

 private:
  void count_labels(const Predictions& predictions, std::int64_t example);
  void count(std::int64_t truth, std::int64_t told, double weight);
  Counts& of(std::int64_t c);
  double average() const;

  std::string name_;
  Average average_;
  std::int64_t positive_class_;
  std::optional<double> threshold_;
  bool multi_label_;
  std::vector<Counts> counts_;  // by class; empty before the first example
};

class Precision final : public ClassScore {
 public:
  using Config = ClassScoreConfig;
  explicit Precision(const Config& config) : ClassScore(config, "precision") {}

 private:
  double score(const Counts& counts) const override;
};

class Recall final : public ClassScore {
 public:
  using Config = ClassScoreConfig;
  explicit Recall(const Config& config) : ClassScore(config, "recall") {}

 private:
  double score(const Counts& counts) const override;
};

class F1 final : public ClassScore {
 public:
  using Config = ClassScoreConfig;
  explicit F1(const Config& config) : ClassScore(config, "f1") {}

 private:
  double score(const Counts& counts) const override;
};

}  // namespace trivet::metrics
