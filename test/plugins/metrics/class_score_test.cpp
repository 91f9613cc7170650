// SPDX-License-Identifier: Apache-2.0
// Precision, recall and F1 against scikit-learn's definitions, by hand.
#include "metrics/class_score.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "trivet/error.h"

namespace class_score_test {

using namespace trivet;
using namespace trivet::metrics;
using Catch::Contains;

namespace {

struct Examples {
  std::vector<float> logits;  // [n, classes]
  std::vector<std::int32_t> labels;
  std::vector<float> weights{};
};

Batch batch_of(const Examples& examples) {
  Batch batch;
  Tensor label = Tensor::host({std::ssize(examples.labels)}, DType::i32);
  std::ranges::copy(examples.labels, label.mutable_span<std::int32_t>().begin());
  batch.set("label", label);
  if (!examples.weights.empty()) {
    Tensor weight = Tensor::host({std::ssize(examples.weights)});
    std::ranges::copy(examples.weights, weight.mutable_span<float>().begin());
    batch.set("weight", weight);
  }
  return batch;
}

NestedMap outputs_of(const Examples& examples) {
  const std::int64_t rows = std::ssize(examples.labels);
  Tensor logits = Tensor::host({rows, std::ssize(examples.logits) / rows});
  std::ranges::copy(examples.logits, logits.mutable_span<float>().begin());
  return NestedMap{{"logits", logits}};
}

template <class Metric>
double score_of(const ClassScoreConfig& config, const Examples& examples) {
  Metric metric(config);
  metric.update_state(batch_of(examples), outputs_of(examples));
  return metric.result().begin()->second;
}

ClassScoreConfig averaged(Average average) {
  ClassScoreConfig config;
  config.average = average;
  return config;
}

// Labels 0 1 2 0 1 2, predictions 0 2 1 0 0 1: the example of scikit-learn's documentation of
// precision_score and its siblings (macro precision 0.22, micro 0.33, weighted 0.22; recall 0.33;
// f1 macro 0.26, micro 0.33, weighted 0.26).
const Examples kDocumented = {{1, 0, 0, 0, 0, 1, 0, 1, 0, 1, 0, 0, 1, 0, 0, 0, 1, 0},
                              {0, 1, 2, 0, 1, 2}};

// Predicted 1 1 0 0 1, the last example does not count: TP 1, FP 1, FN 1.
const Examples kTwo = {{0, 1, 0, 1, 1, 0, 1, 0, 0, 9}, {1, 0, 1, 0, 0}, {1, 1, 1, 1, 0}};

}  // namespace

TEST_CASE("averages of scikit-learn's documentation") {
  CHECK(score_of<Precision>(averaged(Average::macro), kDocumented) == Approx(2.0 / 9));
  CHECK(score_of<Precision>(averaged(Average::micro), kDocumented) == Approx(1.0 / 3));
  CHECK(score_of<Precision>(averaged(Average::weighted), kDocumented) == Approx(2.0 / 9));
  CHECK(score_of<Recall>(averaged(Average::macro), kDocumented) == Approx(1.0 / 3));
  CHECK(score_of<F1>(averaged(Average::macro), kDocumented) == Approx(0.8 / 3));
  CHECK(score_of<F1>(averaged(Average::micro), kDocumented) == Approx(1.0 / 3));
}

TEST_CASE("scores of one class, weights, thresholds and 0 / 0") {
  CHECK(score_of<Precision>({}, kTwo) == 0.5);
  CHECK(score_of<Recall>({}, kTwo) == 0.5);
  CHECK(score_of<F1>({}, kTwo) == 0.5);
  ClassScoreConfig zero;
  zero.positive_class = 0;
  CHECK(score_of<Recall>(zero, kTwo) == 0.5);

  // The probability of class 1 is 0.73 for the first two and 0.27 for the next two.
  ClassScoreConfig low;
  low.threshold = 0.25;
  CHECK(score_of<Precision>(low, kTwo) == 0.5);
  CHECK(score_of<Recall>(low, kTwo) == 1);
  ClassScoreConfig high;
  high.threshold = 0.9;
  CHECK(score_of<Precision>(high, kTwo) == 0);
  CHECK(score_of<Recall>(high, kTwo) == 0);
  CHECK(score_of<F1>(high, kTwo) == 0);

  // Classes that never occur do not count in an average.
  const Examples of_four = {{1, 0, 0, 0, 0, 1, 0, 0}, {0, 1}};
  CHECK(score_of<Recall>(averaged(Average::macro), of_four) == 1);
  CHECK(F1(ClassScoreConfig()).result().begin()->second == 0);
}

TEST_CASE("states of class scores are saved, restored and merged") {
  const ClassScoreConfig config = averaged(Average::macro);
  F1 whole(config), first(config), second(config), restored(config);
  const Examples other = {{0, 2, 1, 3, 0, 0}, {1, 2}};
  for (const Examples& part : {kDocumented, other}) {
    whole.update_state(batch_of(part), outputs_of(part));
  }
  first.update_state(batch_of(kDocumented), outputs_of(kDocumented));
  second.update_state(batch_of(other), outputs_of(other));
  restored.restore_state(first.save_state());
  restored.update_state(batch_of(other), outputs_of(other));
  first.merge(second.save_state());
  CHECK(*first.result().find("f1") == *whole.result().find("f1"));
  CHECK(*restored.result().find("f1") == *whole.result().find("f1"));
  F1 empty(config);
  empty.merge(whole.save_state());
  CHECK(*empty.result().find("f1") == *whole.result().find("f1"));
  F1 two(ClassScoreConfig{});
  two.update_state(batch_of(kTwo), outputs_of(kTwo));
  CHECK_THROWS_WITH(two.merge(whole.save_state()), Contains("has other classes"));
}

TEST_CASE("wrong classes of scores are named") {
  ClassScoreConfig config;
  config.positive_class = 2;
  config.name = "third";
  CHECK_THROWS_WITH(score_of<F1>(config, kTwo),
                    Contains("metric third: positive_class is 2, and the model has 2 classes"));
  const Examples label = {{0, 1}, {2}};
  CHECK_THROWS_WITH(score_of<Recall>({}, label), Contains("no class 2"));
  ClassScoreConfig both = averaged(Average::macro);
  both.threshold = 0.5;
  Diagnostics diagnostics;
  both.validate(diagnostics);
  REQUIRE(diagnostics.list().size() == 1);
  CHECK(diagnostics.list().front().path == "threshold");
}

TEST_CASE("several labels of an example are scored each by itself") {
  // y_true = [[1, 0, 1], [0, 1, 0], [1, 1, 0]], y_pred = [[1, 0, 0], [0, 1, 1], [1, 0, 0]]. By
  // hand: true positives 2 1 0, predicted 2 1 1, true 2 2 1.
  Batch batch;
  Tensor label = Tensor::host({3, 3});
  std::ranges::copy(std::vector<float>{1, 0, 1, 0, 1, 0, 1, 1, 0},
                    label.mutable_span<float>().begin());
  batch.set("label", label);
  Tensor logits = Tensor::host({3, 3});
  std::ranges::copy(std::vector<float>{1, -1, -2, -1, 2, 1, 3, -1, -1},
                    logits.mutable_span<float>().begin());
  const NestedMap outputs{{"logits", logits}};
  const auto score = [&]<class Metric>(Metric* /*type*/, Average average, double threshold = 0.5) {
    ClassScoreConfig config;
    config.average = average;
    config.multi_label = true;
    if (threshold != 0.5) config.threshold = threshold;
    Metric metric(config), other(config);
    metric.update_state(batch, outputs);
    other.merge(metric.save_state());
    CHECK(other.result().begin()->second == metric.result().begin()->second);
    return metric.result().begin()->second;
  };
  const auto precision = static_cast<Precision*>(nullptr);
  const auto recall = static_cast<Recall*>(nullptr);
  const auto f1 = static_cast<F1*>(nullptr);
  CHECK(score(precision, Average::binary) == 1);  // of class 1
  CHECK(score(recall, Average::binary) == 0.5);
  CHECK(score(precision, Average::macro) == Approx(2.0 / 3));
  CHECK(score(recall, Average::macro) == Approx(0.5));
  CHECK(score(precision, Average::micro) == Approx(3.0 / 4));
  CHECK(score(recall, Average::micro) == Approx(3.0 / 5));
  CHECK(score(f1, Average::macro) == Approx((1 + 2.0 / 3 + 0) / 3));
  CHECK(score(f1, Average::weighted) == Approx((2 * 1 + 2 * 2.0 / 3 + 0) / 5));
  // sigmoid(1) = 0.73, sigmoid(2) = 0.88: only two answers are left.
  CHECK(score(recall, Average::micro, 0.8) == Approx(2.0 / 5));
}

}  // namespace class_score_test
