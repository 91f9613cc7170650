// SPDX-License-Identifier: Apache-2.0
// The share of rows with every token right, by hand, and its state.
#include "lm/metrics/strict_accuracy.h"

#include <memory>
#include <vector>

#include <catch2/catch.hpp>

#include "support/plugins.h"
#include "trivet/testing/metric_check.h"

namespace strict_accuracy_test {

using namespace trivet;

namespace {

struct Rows {
  Batch batch;
  NestedMap outputs;
};

// Three positions a row: the label is 1 everywhere.
Rows rows_of(Device& device, const std::vector<std::int32_t>& predicted,
             const std::vector<float>& weights) {
  const auto rows = static_cast<std::int64_t>(predicted.size() / 3);
  Rows made;
  made.batch.set("labels", Tensor::from<std::int32_t>(
                               device, std::vector<std::int32_t>(predicted.size(), 1), {rows, 3}));
  made.batch.set("weights", Tensor::from<float>(device, weights, {rows, 3}));
  made.outputs.set("per_example_argmax", Tensor::from<std::int32_t>(device, predicted, {rows, 3}));
  return made;
}

}  // namespace

TEST_CASE("a row is right if every token with a weight is") {
  const auto device = test::open_device("tiny/Backend");
  lm::StrictAccuracy metric{lm::StrictAccuracyConfig()};
  CHECK(metric.result().empty());
  // Right; wrong in the last; the wrong one has no weight; no weight at all.
  const Rows rows = rows_of(*device, {1, 1, 1, 1, 1, 0, 0, 1, 1, 0, 0, 0},
                            {1, 1, 1, 1, 1, 0.5F, 0, 1, 1, 0, 0, 0});
  metric.update_state(rows.batch, rows.outputs);
  CHECK(*metric.result().find("acc_strict") == Approx(2.0 / 3));
  metric.update_state(rows.batch, NestedMap());  // in training there are no predictions
  CHECK(*metric.result().find("acc_strict") == Approx(2.0 / 3));
  metric.reset_state();
  CHECK(metric.result().empty());
}

TEST_CASE("the strict accuracy keeps to the contract of metrics") {
  const auto device = test::open_device("tiny/Backend");
  std::vector<testing::MetricBatch> samples;
  for (const std::int32_t last : {1, 0, 1}) {
    Rows rows = rows_of(*device, {1, 1, last, last, 1, 1}, {1, 1, 1, 1, 1, 0});
    rows.batch.set("weight", Tensor::full(*device, {2}, 1));
    samples.push_back({rows.batch, rows.outputs});
  }
  CHECK(testing::check_metric(
            [] { return std::make_unique<lm::StrictAccuracy>(lm::StrictAccuracyConfig()); },
            samples) == "");
}

}  // namespace strict_accuracy_test
