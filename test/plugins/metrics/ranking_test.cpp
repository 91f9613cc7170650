// SPDX-License-Identifier: Apache-2.0
// Areas below curves against the examples of scikit-learn's documentation, by hand, and against all
// pairs of random examples.
#include "metrics/ranking.h"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <catch2/catch.hpp>

#include "metrics/ranking_score.h"
#include "trivet/error.h"

namespace ranking_test {

using namespace trivet;
using trivet::metrics::Ranking;

TEST_CASE("areas of scikit-learn's documentation") {
  // roc_auc_score and average_precision_score of y_true = [0, 0, 1, 1], scores [0.1, 0.4, 0.35,
  // 0.8]: 0.75 and 0.83.
  Ranking ranking;
  ranking.add(0.1, 1, false);
  ranking.add(0.4, 1, false);
  ranking.add(0.35, 1, true);
  ranking.add(0.8, 1, true);
  CHECK(ranking.roc_auc() == 0.75);
  CHECK(ranking.average_precision() == Approx(0.5 * 1 + 0.5 * 2 / 3));
}

TEST_CASE("ties, weights, and classes that do not occur") {
  Ranking ties;
  for (int i = 0; i < 4; ++i) ties.add(0.5, 1, i == 0);
  CHECK(ties.roc_auc() == 0.5);
  CHECK(ties.average_precision() == 0.25);
  // An example of weight 2 is two examples.
  Ranking heavy, twice;
  heavy.add(0.9, 2, true);
  heavy.add(0.7, 1, false);
  heavy.add(0.6, 1, true);
  for (int i = 0; i < 2; ++i) twice.add(0.9, 1, true);
  twice.add(0.7, 1, false);
  twice.add(0.6, 1, true);
  CHECK(heavy.roc_auc() == Approx(twice.roc_auc()));
  CHECK(heavy.average_precision() == Approx(twice.average_precision()));

  Ranking positive;
  positive.add(0.5, 1, true);
  CHECK(std::isnan(positive.roc_auc()));
  CHECK(positive.average_precision() == 1);
  CHECK(std::isnan(Ranking().average_precision()));
  positive.add(std::numeric_limits<double>::quiet_NaN(), 1, false);
  CHECK(std::isnan(positive.roc_auc()));
}

TEST_CASE("the area below the ROC curve is the share of ordered pairs, in parts as in the whole") {
  std::mt19937 bits(3);
  for (int round = 0; round < 20; ++round) {
    Ranking whole, first, second;
    std::vector<double> positives, negatives;
    for (int i = 0; i < 60; ++i) {
      const double score = static_cast<double>(bits() % 12);
      const bool positive = bits() % 3 == 0 || i == 0;
      whole.add(score, 1, positive);
      (i % 2 == 0 ? first : second).add(score, 1, positive);
      (positive ? positives : negatives).push_back(score);
    }
    double wins = 0;
    for (const double p : positives) {
      for (const double n : negatives) wins += p > n ? 1 : p == n ? 0.5 : 0;
    }
    const auto pairs = static_cast<double>(positives.size() * negatives.size());
    CHECK(whole.roc_auc() == Approx(wins / pairs));
    first.merge(second.save_state(), "the state");
    CHECK(first.roc_auc() == whole.roc_auc());
    CHECK(first.average_precision() == Approx(whole.average_precision()));
  }
  Ranking ranking;
  CHECK_THROWS_AS(ranking.merge(Value::table({}), "the state"), Error);
}

TEST_CASE("areas of several classes are averaged as in scikit-learn") {
  using namespace trivet::metrics;
  const std::vector<std::vector<double>> rows = {
      {0.7, 0.2, 0.1}, {0.1, 0.6, 0.3}, {0.2, 0.55, 0.25}, {0.1, 0.3, 0.6}};
  const std::vector<std::int32_t> labels = {0, 1, 2, 2};
  Batch batch;
  Tensor label = Tensor::host({4}, DType::i32);
  std::ranges::copy(labels, label.mutable_span<std::int32_t>().begin());
  batch.set("label", label);
  Tensor logits = Tensor::host({4, 3});
  auto out = logits.mutable_span<float>().begin();
  for (const auto& row : rows) {
    for (const double p : row) *out++ = static_cast<float>(std::log(p));
  }
  const NestedMap outputs{{"logits", logits}};
  const auto area = [&](Average average) {
    RankingScoreConfig config;
    config.average = average;
    RocAuc metric(config), other(config);
    metric.update_state(batch, outputs);
    other.merge(metric.save_state());
    CHECK(other.result().begin()->second == metric.result().begin()->second);
    return metric.result().begin()->second;
  };
  // Class 0: 0.7 is above the others. Class 1: 0.6 is above 0.2, 0.55, 0.3. Class 2: of 0.25 and
  // 0.6 against 0.1 and 0.3, three pairs of four are in order.
  CHECK(area(Average::binary) == 1);
  CHECK(area(Average::macro) == Approx((1 + 1 + 0.75) / 3));
  CHECK(area(Average::weighted) == Approx((1 + 1 + 2 * 0.75) / 4));
  // All pairs together: the positives 0.7, 0.6, 0.25, 0.6 are above 8, 8, 5 and 8 of the negatives
  // 0.2, 0.1, 0.1, 0.3, 0.2, 0.55, 0.1, 0.3.
  CHECK(area(Average::micro) == Approx(29.0 / 32));
}

}  // namespace ranking_test
