// SPDX-License-Identifier: Apache-2.0
// RocAuc and AveragePrecision of a classifier: of positive_class against all others, by the
// probability that the model gives it. They read "logits", "label" and "weight" as ClassScore does,
// and keep 16 bytes for each example. 0 before the first example.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ranking.h"
#include "trivet/metric.h"

namespace trivet::metrics {

struct RankingScoreConfig : MetricConfig {
  std::int64_t positive_class = 1;
};
TRIVET_CONFIG(RankingScoreConfig, trivet::MetricConfig,
              (positive_class, "Class that is ranked against all others.", at_least(0)))

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
  std::string name_;
  std::int64_t positive_class_;
  Ranking ranking_;
  bool any_ = false;
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
