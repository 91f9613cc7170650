// SPDX-License-Identifier: Apache-2.0
// The default trainer with trainer.ema, gradient_accumulation, learners and frozen.
#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include <catch2/catch.hpp>

#include "train/default_trainer.h"
#include "train_parts.h"
#include "trivet/error.h"
#include "trivet/plugin/registry.h"

namespace train_learner_test {

using namespace trivet;
using Catch::Contains;
using Bench = test::TrainerBench;

namespace {

TrainerConfig with_ema(double decay) {
  TrainerConfig config = test::trainer_config();
  config.ema.decay = decay;
  return config;
}

TrainerConfig accumulating(std::int64_t parts) {
  TrainerConfig config = test::trainer_config();
  config.gradient_accumulation = parts;
  return config;
}

LearnerConfig learner(const std::string& variable, double rate) {
  LearnerConfig config;
  config.name = "for_" + variable;
  config.variables = {variable};
  config.optimizer = ConfigOf<Optimizer>("parts/Momentum");
  config.learning_rate = ConfigOf<Schedule>("parts/Falling", Value::table({{"value", rate}}));
  return config;
}

// All features are on, for the contents of a checkpoint.
TrainerConfig everything() {
  TrainerConfig config = accumulating(2);
  config.ema.decay = 0.9;
  config.learners = {learner("b", 0.02)};
  return config;
}

float saved(const test::MemoryCheckpoint& checkpoint, const char* file, const char* name) {
  float value = 0;
  std::memcpy(&value, checkpoint.files.at(file).at(name).data(), sizeof value);
  return value;
}

}  // namespace

TEST_CASE("accumulation gives the losses and weights of whole batches") {
  // Two rows of the last batch are padding: its second half has no example.
  const auto input = test::task_config(Value::table({{"batches", 6}, {"padding", 2}}));
  const std::int64_t parts = GENERATE(2, 4);
  Bench whole(test::trainer_config(), input), cut(accumulating(parts), input);
  for (Bench* bench : {&whole, &cut}) {
    bench->trainer->initialize();
    bench->trainer->train(100);
    CHECK(bench->trainer->global_step() == 6);
    CHECK(bench->observer.train_examples == 22);
  }
  // Sums in another order, in f32.
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(cut.observer.losses[i] == Approx(whole.observer.losses[i]).epsilon(1e-5));
  }
  CHECK(cut.weight("w") == Approx(whole.weight("w")).epsilon(1e-5));
  CHECK(cut.weight("b") == Approx(whole.weight("b")).epsilon(1e-5));
  CHECK(*cut.trainer->train_logs().find("largest") ==
        Approx(*whole.trainer->train_logs().find("largest")).epsilon(1e-5));
}

TEST_CASE("a batch that cannot be split equally is rejected with both numbers") {
  CHECK_THROWS_WITH(Bench(accumulating(3)), Contains("trainer.gradient_accumulation") &&
                                                Contains("batch_size = 4") &&
                                                Contains("3 equal parts"));
}

TEST_CASE("accumulation allocates no system memory in its steady state") {
  Bench bench(accumulating(2));
  bench.trainer->initialize();
  bench.trainer->train(2);
  const auto before = bench.device->memory().backend_allocations;
  bench.trainer->train(100);
  CHECK(bench.device->memory().backend_allocations == before);
}

TEST_CASE("an evaluation uses averaged weights, and training continues with its own") {
  Bench plain(test::trainer_config()), averaged(with_ema(0.9));
  for (Bench* bench : {&plain, &averaged}) {
    bench->trainer->initialize();
    bench->trainer->train(5);
  }
  test::MemoryCheckpoint checkpoint;
  averaged.trainer->save(checkpoint);
  const double w = averaged.weight("w"), mean_w = saved(checkpoint, "ema", "w"),
               mean_b = saved(checkpoint, "ema", "b");
  CHECK(w == plain.weight("w"));
  CHECK(mean_w != w);
  // Three batches of four, x = batch + row / 4, y = 3 x.
  double sum = 0;
  for (int i = 0; i < 12; ++i) {
    const double x = i / 4 + (i % 4) / 4.0;
    sum += std::pow(mean_w * x + mean_b - 3 * x, 2);
  }
  CHECK(*averaged.trainer->evaluate(-1).find("validation_loss") == Approx(sum / 12).epsilon(1e-5));
  CHECK(averaged.weight("w") == w);
  for (Bench* bench : {&plain, &averaged}) bench->trainer->train(10);
  CHECK(averaged.observer.losses == plain.observer.losses);
}

TEST_CASE("exports have the averages, before the first update the weights") {
  Bench bench(with_ema(0.9));
  bench.trainer->initialize();
  CHECK(bench.trainer->export_tensors()[0].second.item() == 0.5f);
  bench.trainer->train(5);
  test::MemoryCheckpoint checkpoint;
  bench.trainer->save(checkpoint);
  const NamedTensors exported = bench.trainer->export_tensors();
  REQUIRE(exported.size() == 2);
  CHECK(exported[0].first == "w");
  CHECK(exported[0].second.item() == saved(checkpoint, "ema", "w"));
}

TEST_CASE("an interrupted evaluation restores the weights") {
  Bench bench(with_ema(0.9));
  bench.trainer->initialize();
  bench.trainer->train(3);
  const double w = bench.weight("w");
  bench.observer.stop_after = bench.observer.asked + 1;
  CHECK(bench.trainer->evaluate(-1).empty());
  CHECK(bench.weight("w") == w);
}

TEST_CASE("a run that only evaluates uses the averages of the checkpoint") {
  Bench trained(with_ema(0.9));
  trained.trainer->initialize();
  trained.trainer->train(5);
  test::MemoryCheckpoint checkpoint;
  trained.trainer->save(checkpoint);
  const Logs expected = trained.trainer->evaluate(-1);
  const ConfigOf<Task> without = test::task_with("init_load", Value::table({{"averages", false}}));
  Bench evaluating(with_ema(0.9), test::task_config(), false),
      other_config(test::trainer_config(), test::task_config(), false),
      raw(with_ema(0.9), without, false);
  for (Bench* bench : {&evaluating, &other_config, &raw}) bench->trainer->restore(checkpoint);
  for (Bench* bench : {&evaluating, &other_config}) {
    CHECK(*bench->trainer->evaluate(-1).find("validation_loss") ==
          *expected.find("validation_loss"));
    CHECK_THAT(bench->observer.notes, Contains("evaluating the moving averages"));
  }
  CHECK(raw.weight("w") == saved(checkpoint, "model", "w"));
  CHECK_THAT(raw.observer.notes, Contains("not their moving averages"));
}

TEST_CASE("an average that is enabled later starts at the current weights") {
  Bench first(test::trainer_config());
  first.trainer->initialize();
  first.trainer->train(4);
  test::MemoryCheckpoint before, after;
  first.trainer->save(before);
  Bench second(with_ema(0.9));
  second.trainer->restore(before);
  second.trainer->save(after);
  CHECK(after.files.at("ema") == before.files.at("model"));
}

TEST_CASE("learners have their own rates, which the logs name") {
  TrainerConfig config = test::trainer_config();
  config.learners = {learner("b", 0.5)};
  Bench bench(config);
  bench.trainer->initialize();
  bench.trainer->train(1);
  // dw = -1.09375, db = -1.875 as in "the first losses and weights are those computed by hand".
  CHECK(bench.weight("w") == Approx(0.5109375).epsilon(1e-6));
  CHECK(bench.weight("b") == Approx(0.9375).epsilon(1e-6));
  const Logs logs = bench.trainer->train_logs();
  CHECK(*logs.find("learning_rate") == 0.005);
  CHECK(*logs.find("learning_rate/for_b") == 0.25);
}

TEST_CASE("without a trainer optimizer, learners must cover every variable") {
  TrainerConfig config = test::trainer_config();
  config.optimizer = {};
  config.learning_rate = {};
  config.learners = {learner("b", 0.5)};
  CHECK_THROWS_WITH(Bench(config), Contains("w: none"));
  config.learners.push_back(learner("w", 0.5));
  Bench bench(config);
  bench.trainer->initialize();
  bench.trainer->train(1);
  CHECK(bench.trainer->train_logs().find("learning_rate") == nullptr);
}

TEST_CASE("frozen variables keep their values and are saved with the weights") {
  TrainerConfig config = test::trainer_config();
  config.frozen = {"w"};
  Bench bench(config);
  bench.trainer->initialize();
  bench.trainer->train(10);
  CHECK(bench.weight("w") == 0.5);
  CHECK(bench.weight("b") != 0);
  test::MemoryCheckpoint checkpoint;
  bench.trainer->save(checkpoint);
  CHECK(checkpoint.files.at("model").size() == 2);
  CHECK(checkpoint.files.at("optimizer").size() == 1);
}

TEST_CASE("with trainable patterns all other variables keep their values") {
  TrainerConfig config = test::trainer_config();
  config.trainable = {"b"};
  Bench bench(config);
  bench.trainer->initialize();
  bench.trainer->train(10);
  CHECK(bench.weight("w") == 0.5);
  CHECK(bench.weight("b") != 0);
  config.trainable = {"b", "nothing"};
  CHECK_THROWS_WITH(Bench(config),
                    Contains("trainer.trainable") && Contains("'nothing' matches no variable"));
}

TEST_CASE("averages of states are kept from the step that enables them") {
  // A frozen variable is a state.
  TrainerConfig without = with_ema(0.9), with = with_ema(0.9);
  without.frozen = with.frozen = {"w"};
  with.ema.trainable_weights_only = false;
  Bench first(without), second(with), third(without), evaluating(with, test::task_config(), false);
  first.trainer->initialize();
  first.trainer->train(3);
  test::MemoryCheckpoint before, after, back;
  first.trainer->save(before);
  CHECK(before.files.at("ema").size() == 1);
  second.trainer->restore(before);
  second.trainer->save(after);
  CHECK(after.files.at("ema").size() == 2);
  CHECK(after.files.at("ema").at("b") == before.files.at("ema").at("b"));
  CHECK(saved(after, "ema", "w") == 0.5f);
  third.trainer->restore(after);
  third.trainer->save(back);
  CHECK(back.files == before.files);
  evaluating.trainer->restore(after);
  CHECK(*evaluating.trainer->evaluate(-1).find("validation_loss") ==
        *second.trainer->evaluate(-1).find("validation_loss"));
}

TEST_CASE("with everything on, a trainer restored at any step continues with the same bits") {
  constexpr std::int64_t kSteps = 10;
  const auto train = [](Bench& bench, std::int64_t to) {
    bench.trainer->train(to);
    test::MemoryCheckpoint checkpoint;
    bench.trainer->save(checkpoint);
    return checkpoint;
  };
  Bench straight(everything());
  straight.trainer->initialize();
  const test::MemoryCheckpoint expected = train(straight, kSteps);
  CHECK(expected.files.at("ema").size() == 2);
  for (std::int64_t stop = 0; stop <= kSteps; ++stop) {
    Bench first(everything()), second(everything());
    first.trainer->initialize();
    const test::MemoryCheckpoint saved = train(first, stop);
    second.trainer->restore(saved);
    const test::MemoryCheckpoint end = train(second, kSteps);
    REQUIRE(end.files == expected.files);
    REQUIRE(end.states == expected.states);
  }
}

}  // namespace train_learner_test
