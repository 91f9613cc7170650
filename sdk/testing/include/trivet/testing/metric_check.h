// SPDX-License-Identifier: Apache-2.0
// Conformance check of a metric: whether it keeps what trivet/metric.h promises, so that a run may
// stop at any batch and several processes may share an evaluation.
//
// Example (sdk/examples/snippets/checks.cpp#metric):
//
//   const auto make = [] { return std::make_unique<MeanOfX>(MeanOfX::Config{}); };
//   REQUIRE(trivet::testing::check_metric(make, batches) == "");
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "trivet/metric.h"
#include "trivet/tensor/nested_map.h"

namespace trivet::testing {

struct MetricBatch {
  trivet::Batch batch;
  NestedMap outputs;
};

struct MetricCheckOptions {
  // Largest difference of two results whose sums were added in another order, relative to them.
  double relative = 1e-9;
  bool merges = true;  // false: the metric has no merge
};

// Empty when the metric keeps its promises, otherwise a text with a line for each broken one. The
// batches are cut in two at every place: a metric that is restored between the two must end with
// the same bits, also through JSON; a metric of the first part, merged with one of the second, must
// have the result of both; one that saw nothing must change no result. reset_state() must forget
// all batches, and batches whose "weight" is 0 everywhere must change nothing. Give it batches of
// different sizes: throws Error for less than two, and what the metric throws. [run-thread]
std::string check_metric(const std::function<std::unique_ptr<Metric>()>& make,
                         std::span<const MetricBatch> batches,
                         const MetricCheckOptions& options = {});

}  // namespace trivet::testing
