// SPDX-License-Identifier: Apache-2.0
// Variational noise in the trainer: in training steps from its start step, never in evaluations or
// saved weights. The learner's tests cover its effect on weights.
#include <catch2/catch.hpp>

#include "train/default_trainer.h"
#include "train_parts.h"

namespace train_noise_test {

using namespace trivet;
using Bench = test::TrainerBench;

namespace {

TrainerConfig noisy(double scale, std::int64_t start_step) {
  TrainerConfig config = test::trainer_config();
  config.variational_noise.scale = scale;
  config.variational_noise.start_step = start_step;
  return config;
}

std::vector<double> losses(Bench& bench, std::int64_t steps) {
  bench.trainer->initialize();
  bench.trainer->train(steps);
  return bench.observer.losses;
}

}  // namespace

TEST_CASE("training steps have variational noise from start_step on, the same in every run") {
  Bench plain, bench(noisy(0.25, 2)), again(noisy(0.25, 2));
  const auto without = losses(plain, 4), with = losses(bench, 4);
  CHECK(with[0] == without[0]);
  CHECK(with[1] == without[1]);
  CHECK(with[2] != without[2]);
  CHECK(with[3] != without[3]);
  CHECK(losses(again, 4) == with);
}

TEST_CASE("evaluations and checkpoints have weights without variational noise") {
  // With a rate of 0 only noise can change a weight.
  TrainerConfig still = noisy(0.5, 0);
  still.learning_rate = ConfigOf<Schedule>("parts/Falling", Value::table({{"value", 0.0}}));
  Bench plain, bench(still);
  plain.trainer->initialize();
  const double before = *plain.trainer->evaluate(-1).find("validation_loss");
  const auto seen = losses(bench, 3);
  CHECK(seen[0] != Approx(6.25 * 0.21875));  // that of w = 0.5, see train_trainer_test.cpp
  CHECK(*bench.trainer->evaluate(-1).find("validation_loss") == before);
  CHECK(bench.save().files.at("model") == plain.save().files.at("model"));
}

}  // namespace train_noise_test
