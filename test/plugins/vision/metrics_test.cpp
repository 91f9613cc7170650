// SPDX-License-Identifier: Apache-2.0
// Metrics of classifiers: ranks, accuracy and top k, against counts by hand.
#include "vision/metrics.h"

#include <limits>

#include <catch2/catch.hpp>

#include "batch.h"
#include "trivet/error.h"
#include "trivet/train/predictions.h"

namespace vision_metrics_test {
namespace {

using Catch::Contains;
using trivet::Error;
using trivet::Predictions;
using trivet::Value;
using trivet::test::labels;
using trivet::test::logits;
using trivet::test::number;
using trivet::vision::Accuracy;
using trivet::vision::HitRate;
using trivet::vision::TopK;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Of one example.
std::int64_t rank(std::int32_t label, const std::vector<float>& row) {
  return Predictions(labels({label}), logits(row, static_cast<std::int64_t>(row.size())))
      .rank_of_label(0);
}

std::int64_t predicted(const std::vector<float>& row) {
  return Predictions(labels({0}), logits(row, static_cast<std::int64_t>(row.size()))).predicted(0);
}

}  // namespace

TEST_CASE("the rank of a label counts the classes before it") {
  CHECK(rank(0, {3, 1, 2}) == 0);
  CHECK(rank(2, {3, 1, 2}) == 1);
  CHECK(rank(1, {3, 1, 2}) == 2);
  CHECK(rank(1, {-kInfinity, kInfinity, 0}) == 0);
}

TEST_CASE("of equal logits the lower class comes first") {
  CHECK(rank(0, {1, 1, 1}) == 0);
  CHECK(rank(1, {1, 1, 1}) == 1);
  CHECK(rank(2, {1, 1, 1}) == 2);
  CHECK(predicted({0, 5, 5}) == 1);
}

TEST_CASE("a label whose logit is not a number is never among the best") {
  CHECK(rank(1, {1, kNan, 2}) == 3);
  CHECK(rank(0, {kNan, kNan, kNan}) == 3);
  // Another class's NaN ranks last.
  CHECK(rank(2, {1, kNan, 2}) == 0);
}

TEST_CASE("a logit that is not a number is not predicted while another is one") {
  CHECK(predicted({kNan, 1, 2}) == 2);
  CHECK(predicted({1, kNan, 0}) == 0);
  CHECK(predicted({kNan, -kInfinity, kNan}) == 1);
  CHECK(predicted({kNan, kNan}) == 0);
}

TEST_CASE("an invalid label is never a hit") {
  CHECK(rank(-1, {1, 2}) == 2);
  CHECK(rank(2, {1, 2}) == 2);
}

TEST_CASE("weights are 1 where the batch has none") {
  const Predictions plain(labels({0, 1}), logits({1, 0, 0, 1}, 2));
  CHECK(plain.examples() == 2);
  CHECK(plain.classes() == 2);
  CHECK(plain.weight(1) == 1);
  const Predictions weighted(labels({0, 1}, {0.5F, 0}), logits({1, 0, 0, 1}, 2));
  CHECK(weighted.weight(0) == 0.5F);
  CHECK(weighted.weight(1) == 0);
}

TEST_CASE("shapes that do not fit are refused before anything is read") {
  CHECK_THROWS_WITH(Predictions(labels({0, 1}), logits({1, 2, 3}, 3)),
                    Contains("expected logits [B, classes] and label i32 [B]") &&
                        Contains("[1, 3]") && Contains("[2]"));
  CHECK_THROWS_WITH(Predictions(labels({0, 1}, {1}), logits({1, 2, 3, 4}, 2)),
                    Contains("expected weight [B]") && Contains("[1]"));
  CHECK_THROWS_WITH(Predictions({}, logits({1, 2}, 2)), Contains("label"));
  CHECK_THROWS_WITH(Predictions(labels({0}), {}), Contains("logits"));
}

TEST_CASE("accuracy and top k are the weighted shares of hits") {
  // Ranks of the labels: 0, 1, 2, 0; weights 1, 2, 4, 0.
  const auto batch = labels({0, 1, 2, 0}, {1, 2, 4, 0});
  const auto outputs = logits({9, 1, 0, 9, 8, 0, 3, 2, 1, 9, 0, 0}, 3);
  Accuracy accuracy{trivet::vision::AccuracyConfig{}};
  TopK top2{trivet::vision::TopKConfig{{}, 2}};
  TopK top3{trivet::vision::TopKConfig{{}, 3}};
  for (HitRate* metric : {static_cast<HitRate*>(&accuracy), static_cast<HitRate*>(&top2),
                          static_cast<HitRate*>(&top3)}) {
    metric->update_state(batch, outputs);
  }
  CHECK(number(accuracy.result(), "accuracy") == Approx(1.0 / 7));
  CHECK(number(top2.result(), "top_2_accuracy") == Approx(3.0 / 7));
  CHECK(number(top3.result(), "top_3_accuracy") == 1);
}

TEST_CASE("hits add up over batches until the state is reset") {
  HitRate rate("hits", 1);
  CHECK(number(rate.result(), "hits") == 0);
  rate.update_state(labels({0, 1}), logits({1, 0, 1, 0}, 2));
  rate.update_state(labels({0, 0}), logits({1, 0, 1, 0}, 2));
  CHECK(number(rate.result(), "hits") == 0.75);
  rate.reset_state();
  CHECK(number(rate.result(), "hits") == 0);
  rate.update_state(labels({1}), logits({0, 1}, 2));
  CHECK(number(rate.result(), "hits") == 1);
}

TEST_CASE("an example of weight 0 never counts") {
  HitRate rate("hits", 1);
  rate.update_state(labels({0, -1}, {1, 0}), logits({1, 0, kNan, kNan}, 2));
  CHECK(number(rate.result(), "hits") == 1);
  HitRate padding("hits", 1);
  padding.update_state(labels({0}, {0}), logits({1, 0}, 2));
  CHECK(number(padding.result(), "hits") == 0);
}

TEST_CASE("a metric continues from its saved state as if it had never stopped") {
  HitRate straight("hits", 1), first("hits", 1), second("hits", 1);
  const auto part = labels({0, 1, 1}, {0.25F, 1, 3});
  const auto said = logits({1, 0, 1, 0, 0, 1}, 2);
  const auto rest = labels({1});
  const auto rest_said = logits({1, 0}, 2);
  straight.update_state(part, said);
  straight.update_state(rest, rest_said);
  first.update_state(part, said);
  second.update_state(rest, rest_said);  // forgotten by restoring
  second.restore_state(first.save_state());
  second.update_state(rest, rest_said);
  CHECK(number(second.result(), "hits") == number(straight.result(), "hits"));
  CHECK(number(straight.result(), "hits") == 3.25 / 5.25);
}

TEST_CASE("a saved state without its numbers is refused") {
  HitRate rate("hits", 1);
  CHECK_THROWS_WITH(rate.restore_state(Value::table({{"hits", 1.0}})),
                    Contains("metric hits lacks 'total'"));
  CHECK_THROWS_AS(rate.restore_state(Value::table({{"hits", "one"}, {"total", 1.0}})), Error);
}

TEST_CASE("a metric uses its configured name") {
  trivet::vision::AccuracyConfig config;
  config.name = "right";
  CHECK(Accuracy(config).result().find("right") != nullptr);
  CHECK(TopK(trivet::vision::TopKConfig{}).result().find("top_5_accuracy") != nullptr);
  CHECK(TopK(trivet::vision::TopKConfig{{"near"}, 5}).result().find("near") != nullptr);
}

}  // namespace vision_metrics_test
