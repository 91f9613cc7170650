// SPDX-License-Identifier: Apache-2.0
#include "run/run_stats.h"

#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "support/plugins.h"

namespace trivet::test::run_stats {
namespace {

void step(RunStats& stats, std::vector<double> waited) {
  stats.set_processes({.waited_seconds = std::move(waited)});
  stats.on_step(1);
}

}  // namespace

TEST_CASE("the shortest wait of each measured step is that of transfers") {
  const auto device = open_device(backends().front());
  RunStats stats(*device);
  stats.begin_training();
  step(stats, {0.5, 0.5});
  step(stats, {1.0, 2.0});
  step(stats, {1.25, 4.0});  // process 0 is the last to come, and then process 1
  step(stats, {3.25, 4.5});
  stats.end_training();
  const TrainingCost cost = stats.cost();
  CHECK(cost.steps == 2);
  CHECK(cost.waited_seconds == std::vector<double>{2.25, 2.5});
  CHECK(cost.exchange_seconds == 0.75);
}

TEST_CASE("a run of one process waits for nobody") {
  const auto device = open_device(backends().front());
  RunStats stats(*device);
  stats.begin_training();
  for (int i = 0; i < 4; ++i) stats.on_step(1);
  stats.end_training();
  CHECK(stats.cost().waited_seconds.empty());
  CHECK(stats.cost().exchange_seconds == 0);
}

}  // namespace trivet::test::run_stats
