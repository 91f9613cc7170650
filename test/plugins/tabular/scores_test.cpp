// SPDX-License-Identifier: Apache-2.0
// Scores of predictions against values by hand, and the area under the ROC curve against its
// definition over all pairs.
#include "tabular/scores.h"

#include <cmath>
#include <cstdlib>

#include <catch2/catch.hpp>

#include "plugins/vision/batch.h"
#include "support/layer_fixture.h"
#include "trivet/error.h"

namespace tabular_scores_test {

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;
using tabular::Accuracy;
using tabular::RegressionScores;
using tabular::RocCurve;

namespace {

// Labels 1, 2, 3, 9; the last is padding. Predictions 2, 2, 1, 0.
void add_sample(Metric& metric) {
  Batch batch{{"label", host_tensor<float>({1, 2, 3, 9}, {4})},
              {"weight", host_tensor<float>({1, 1, 1, 0}, {4})}};
  metric.update_state(batch, logits({2, 2, 1, 0}, 1));
}

double area(const std::vector<float>& second_logits, const std::vector<std::int32_t>& label,
            const std::vector<float>& weight = {}) {
  std::vector<float> both;
  for (const float logit : second_logits) both.insert(both.end(), {0, logit});
  RocCurve curve;
  curve.add(Predictions(labels(label, weight), logits(both, 2)));
  return curve.area();
}

}  // namespace

TEST_CASE("rmse, mae and r2 match the formulas, without padding") {
  RegressionScores scores{tabular::RegressionScoresConfig{}};
  add_sample(scores);
  // Errors 1, 0, -2; the labels' squared distances from their mean add up to 2.
  CHECK(number(scores.result(), "rmse") == Approx(std::sqrt(5.0 / 3)));
  CHECK(number(scores.result(), "mae") == Approx(1));
  CHECK(number(scores.result(), "r2") == Approx(1 - 5.0 / 2));
  tabular::RegressionScoresConfig config;
  config.name = "price";
  config.scale = 10;
  RegressionScores scaled(config);
  add_sample(scaled);
  CHECK(number(scaled.result(), "price_rmse") == Approx(10 * std::sqrt(5.0 / 3)));
  CHECK(number(scaled.result(), "price_mae") == Approx(10));
  CHECK(number(scaled.result(), "price_r2") == Approx(-1.5));
}

TEST_CASE("scores continue from a saved state, and restart after a reset") {
  RegressionScores scores{tabular::RegressionScoresConfig{}},
      other{tabular::RegressionScoresConfig{}};
  CHECK(number(scores.result(), "r2") == 0);
  add_sample(scores);
  other.restore_state(scores.save_state());
  add_sample(scores);
  add_sample(other);
  for (const char* name : {"rmse", "mae", "r2"}) {
    CHECK(number(other.result(), name) == number(scores.result(), name));
  }
  other.reset_state();
  CHECK(number(other.result(), "rmse") == 0);
  CHECK_THROWS_WITH(other.restore_state(Value::table({{"weight", 1.0}})), Contains("absolute"));

  Accuracy accuracy{tabular::AccuracyConfig{}}, again{tabular::AccuracyConfig{}};
  CHECK(number(accuracy.result(), "accuracy") == 0);
  accuracy.update_state(labels({0, 1, 1}, {1, 2, 0}), logits({1, 0, 1, 0, 0, 1}, 2));
  CHECK(number(accuracy.result(), "accuracy") == Approx(1.0 / 3));
  again.restore_state(accuracy.save_state());
  CHECK(number(again.result(), "accuracy") == Approx(1.0 / 3));
}

TEST_CASE("mismatched shapes of scores are refused") {
  RegressionScores scores{tabular::RegressionScoresConfig{}};
  CHECK_THROWS_WITH(
      scores.update_state({{"label", host_tensor<float>({1}, {1})}}, logits({1, 2}, 2)),
      Contains("expected logits [B, 1]"));
  RocCurve curve;
  CHECK_THROWS_WITH(curve.add(Predictions(labels({0}), logits({1, 2, 3}, 3))),
                    Contains("a ROC curve needs two classes, not 3"));
}

TEST_CASE("the area under the ROC curve is the share of pairs in the right order") {
  CHECK(area({1, 2, 3, 4}, {0, 0, 1, 1}) == 1);
  CHECK(area({1, 2, 3, 4}, {1, 1, 0, 0}) == 0);
  // The example of scikit-learn's roc_auc_score: 0.1, 0.4, 0.35, 0.8.
  CHECK(area({0.1F, 0.4F, 0.35F, 0.8F}, {0, 0, 1, 1}) == 0.75);
  CHECK(area({2, 2, 2, 2}, {0, 1, 0, 1}) == 0.5);
  CHECK(std::isnan(area({1, 2}, {1, 1})));
  CHECK(std::isnan(area({1, std::nanf("")}, {0, 1})));
}

TEST_CASE("the area with ties and weights is the sum over all pairs") {
  const auto noise = random_values(120, 5, 2);
  std::vector<float> scores, weights;
  std::vector<std::int32_t> label;
  for (std::size_t i = 0; i < noise.size(); ++i) {
    scores.push_back(std::round(noise[i]));  // few values, many ties
    weights.push_back(static_cast<float>(i % 4));
    label.push_back(i % 3 == 0 ? 1 : 0);
  }
  double wins = 0, pairs = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    for (std::size_t j = 0; j < scores.size(); ++j) {
      if (label[i] != 1 || label[j] != 0) continue;
      const double weight = static_cast<double>(weights[i]) * static_cast<double>(weights[j]);
      pairs += weight;
      wins += weight * (scores[i] > scores[j] ? 1 : scores[i] == scores[j] ? 0.5 : 0);
    }
  }
  CHECK(area(scores, label, weights) == Approx(wins / pairs).epsilon(1e-12));
}

}  // namespace tabular_scores_test
