// SPDX-License-Identifier: Apache-2.0
// RocAuc and AveragePrecision of a classifier: of a class against all others, by the probability
// that the model gives it. They read "logits", "label" and "weight" as ClassScore does, and keep 16
// bytes for each example and class that is scored. 0 before the first example.
//
// Averages are those of scikit-learn (roc_auc_score with multi_class = "ovr"): macro is the plain
// mean over the classes, weighted the mean by how often each was true, micro the score of the pairs
// of all classes together. NaN if the score of a class is.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "average.h"
#include "ranking.h"
#include "trivet/metric.h"
#include "trivet/train/predictions.h"

namespace trivet::metrics {

struct RankingScoreConfig : MetricConfig {
  Average average = Average::binary;
  std::int64_t positive_class = 1;
  bool multi_label = false;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(RankingScoreConfig, trivet::MetricConfig,
              (average,
               "binary: the score of positive_class; macro, micro and weighted: of each class "
               "against all others, as scikit-learn averages."),
              (positive_class, "Class that is scored, with average = \"binary\".", at_least(0)),
              (multi_label, "Several classes may be right: labels are 0 or 1 for each class."))

class RankingScore : public Metric {
 public:
  using Config = RankingScoreConfig;

  void update_state(const Batch& batch, const NestedMap& outputs) final;
  Logs result() const final;
  void reset_state() final;
  Value save_state() const final;
  void restore_state(const Value& state) final;
  void merge(const Value& state) final;

 protected:
  // `name` unless the config has one.
  RankingScore(const Config& config, std::string_view name);
  virtual double score(const Ranking& ranking) const = 0;

 private:
  void add(const Predictions& predictions, std::int64_t example, std::int64_t c);
  Ranking& of(std::size_t index);

  std::string name_;
  Average average_;
  std::int64_t positive_class_;
  bool multi_label_;
  std::vector<Ranking> rankings_;  // one, or one for each class; none before the first example
};

class RocAuc final : public RankingScore {
 public:
  using Config = RankingScoreConfig;
  explicit RocAuc(const Config& config) : RankingScore(config, "roc_auc") {}

 private:
  double score(const Ranking& ranking) const override { return ranking.roc_auc(); }
};

class AveragePrecision final : public RankingScore {
 public:
  using Config = RankingScoreConfig;
  explicit AveragePrecision(const Config& config) : RankingScore(config, "average_precision") {}

 private:
  double score(const Ranking& ranking) const override { return ranking.average_precision(); }
};

}  // namespace trivet::metrics
