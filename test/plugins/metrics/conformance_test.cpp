// SPDX-License-Identifier: Apache-2.0
// All metrics of classifiers that a config can name keep the promises of trivet/metric.h.
#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "metrics/class_score.h"
#include "metrics/ranking_score.h"
#include "support/layer_fixture.h"
#include "trivet/testing/metric_check.h"
#include "vision/metrics.h"

namespace metric_conformance_test {

using namespace trivet;

namespace {

constexpr std::int64_t kClasses = 3;

Tensor host(const std::vector<float>& values, const Shape& shape) {
  Tensor out = Tensor::host(shape);
  std::ranges::copy(values, out.mutable_span<float>().begin());
  return out;
}

// Batches of 5, 1 and 4 examples; with several labels or one.
std::vector<testing::MetricBatch> batches(bool multi_label) {
  std::vector<testing::MetricBatch> all;
  std::uint64_t seed = 0;
  for (const std::int64_t rows : {5, 1, 4}) {
    testing::MetricBatch each;
    each.outputs.set("logits",
                     host(test::random_values(rows * kClasses, ++seed, 2), {rows, kClasses}));
    std::vector<float> weights(static_cast<std::size_t>(rows), 1);
    weights.back() = 0.5F;
    each.batch.set("weight", host(weights, {rows}));
    const std::vector<float> noise = test::random_values(rows * kClasses, ++seed);
    if (multi_label) {
      std::vector<float> labels;
      for (const float value : noise) labels.push_back(value > 0 ? 1.0F : 0.0F);
      each.batch.set("label", host(labels, {rows, kClasses}));
    } else {
      Tensor label = Tensor::host({rows}, DType::i32);
      for (std::int64_t i = 0; i < rows; ++i) {
        label.mutable_span<std::int32_t>()[static_cast<std::size_t>(i)] =
            static_cast<std::int32_t>((i + static_cast<std::int64_t>(seed)) % kClasses);
      }
      each.batch.set("label", label);
    }
    all.push_back(std::move(each));
  }
  return all;
}

template <class M>
void check(const typename M::Config& config, bool multi_label = false) {
  CHECK(testing::check_metric([&] { return std::make_unique<M>(config); }, batches(multi_label)) ==
        "");
}

}  // namespace

TEST_CASE("accuracies merge, and continue from their state") {
  check<vision::Accuracy>({});
  vision::TopKConfig two;
  two.k = 2;
  check<vision::TopK>(two);
  check<vision::BinaryAccuracy>({}, true);
}

TEMPLATE_TEST_CASE("scores of classes merge, and continue from their state", "", metrics::Precision,
                   metrics::Recall, metrics::F1) {
  using metrics::Average;
  for (const Average average :
       {Average::binary, Average::macro, Average::micro, Average::weighted}) {
    for (const bool multi_label : {false, true}) {
      metrics::ClassScoreConfig config;
      config.average = average;
      config.multi_label = multi_label;
      check<TestType>(config, multi_label);
    }
  }
}

TEMPLATE_TEST_CASE("areas below curves merge, and continue from their state", "", metrics::RocAuc,
                   metrics::AveragePrecision) {
  using metrics::Average;
  for (const Average average :
       {Average::binary, Average::macro, Average::micro, Average::weighted}) {
    for (const bool multi_label : {false, true}) {
      metrics::RankingScoreConfig config;
      config.average = average;
      config.multi_label = multi_label;
      check<TestType>(config, multi_label);
    }
  }
}

}  // namespace metric_conformance_test
