// SPDX-License-Identifier: Apache-2.0
// Whether the data of an evaluation restarts or continues where the last one stopped.
#include <catch2/catch.hpp>

#include "train/default_trainer.h"
#include "train_parts.h"
#include "trivet/error.h"

namespace train_validation_data_test {

using namespace trivet;
using Bench = test::TrainerBench;

namespace {

TrainerConfig going_on() {
  TrainerConfig config = test::trainer_config();
  config.validation_data = ValidationData::continue_;
  config.validation_steps = 2;
  return config;
}

Bench bench_of(const TrainerConfig& config, std::int64_t batches) {
  return Bench(config, test::task_config({}, Value::table({{"batches", batches}})));
}

// Before training w is 0.5, and the batches from `first` to `last` of `of` have the loss 6.25
// mean(x^2), see train_parts.h.
double loss_of(int first, int last) {
  double sum = 0;
  for (int batch = first; batch <= last; ++batch) {
    for (int row = 0; row < 4; ++row) {
      const double x = batch + row / 4.0;
      sum += 6.25 * x * x;
    }
  }
  return sum / (4 * (last - first + 1));
}

double loss(Bench& bench, std::int64_t steps) {
  return *bench.trainer->evaluate(steps).find("validation_loss");
}

}  // namespace

TEST_CASE("evaluations start over, even if they do not use all data") {
  Bench bench = bench_of(test::trainer_config(), 3);
  bench.trainer->initialize();
  for (int i = 0; i < 3; ++i) CHECK(loss(bench, 2) == Approx(loss_of(0, 1)));
  CHECK(loss(bench, -1) == Approx(loss_of(0, 2)));
}

TEST_CASE("continued evaluations use all data in turn") {
  Bench bench = bench_of(going_on(), 5);
  bench.trainer->initialize();
  CHECK(loss(bench, 2) == Approx(loss_of(0, 1)));
  CHECK(loss(bench, 2) == Approx(loss_of(2, 3)));
  // The last batch, then the first.
  CHECK(loss(bench, 2) == Approx((loss_of(4, 4) + loss_of(0, 0)) / 2));
  CHECK(loss(bench, 2) == Approx(loss_of(1, 2)));
  // More batches than exist: some come twice.
  CHECK(*bench.trainer->evaluate(12).find("eval_batches") == 12);
}

TEST_CASE("evaluations continue after a checkpoint, too") {
  Bench bench = bench_of(going_on(), 5);
  bench.trainer->initialize();
  bench.trainer->train(1);
  bench.trainer->evaluate(2);
  const test::MemoryCheckpoint checkpoint = bench.save();
  const double next = loss(bench, 2);
  Bench resumed = bench_of(going_on(), 5);
  resumed.trainer->restore(checkpoint);
  CHECK(loss(resumed, 2) == next);

  // No position is kept if evaluations start over, and a run with continued evaluations can
  // continue from such a checkpoint.
  Bench other = bench_of(test::trainer_config(), 5);
  other.trainer->initialize();
  other.trainer->train(1);
  other.trainer->evaluate(2);
  const test::MemoryCheckpoint without = other.save();
  CHECK_FALSE(without.has_state("eval_input"));
  resumed.trainer->restore(without);
  CHECK(resumed.trainer->evaluate(1).find("validation_loss") != nullptr);
}

TEST_CASE("evaluation data without a batch is reported in continued evaluations, too") {
  Bench bench = bench_of(going_on(), -1);
  bench.trainer->initialize();
  CHECK_THROWS_WITH(bench.trainer->evaluate(2), Catch::Contains("no batch"));
}

TEST_CASE("an evaluation of all batches cannot be continued") {
  TrainerConfig config = going_on();
  Diagnostics fine;
  config.validate(fine);
  CHECK(fine.list().empty());
  config.validation_steps = -1;
  Diagnostics diagnostics;
  config.validate(diagnostics);
  REQUIRE(diagnostics.list().size() == 1);
  CHECK(diagnostics.list()[0].path == "validation_data");
}

}  // namespace train_validation_data_test
