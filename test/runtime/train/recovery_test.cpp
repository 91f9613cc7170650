// SPDX-License-Identifier: Apache-2.0
// Bad steps: skipped, or undone by going back to a checkpoint, depending on trainer.recovery.
#include <cmath>
#include <memory>
#include <string>

#include <catch2/catch.hpp>

#include "train/default_trainer.h"
#include "train_parts.h"
#include "trivet/error.h"
#include "trivet/plugin/registry.h"

namespace train_recovery_test {

using namespace trivet;
using Catch::Contains;
using Bench = test::TrainerBench;

namespace {

TrainerConfig recovering(Recovery recovery, std::int64_t trials) {
  TrainerConfig config = test::trainer_config();
  config.recovery = recovery;
  config.recovery_max_trials = trials;
  return config;
}

ConfigOf<Task> with_nan_at(std::int64_t batch) {
  return test::task_config(Value::table({{"nan_at", batch}}));
}

std::string trainer_state(const test::MemoryCheckpoint& checkpoint, const char* key) {
  return to_toml(*checkpoint.state("trainer").find(key));
}

}  // namespace

TEST_CASE("steps with a non-finite loss are skipped as often as configured") {
  TrainerConfig config = recovering(Recovery::skip, 1);
  config.ema.decay = 0.9;
  config.gradient_accumulation = GENERATE(1, 2);
  Value fields = test::task_with("explode_at", 3.0).fields();
  fields.set("model", Value::table({{"type", "parts/Model"}, {"counts", true}}));
  Bench bench(config, ConfigOf<Task>("parts/Task", std::move(fields)));
  bench.trainer->initialize();
  bench.trainer->train(2);
  const test::MemoryCheckpoint before = bench.save();
  bench.trainer->train(3);
  const test::MemoryCheckpoint after = bench.save();
  CHECK(after.files == before.files);  // weights, states of layers, slots and averages
  CHECK(bench.weight("seen") == 2.0 * static_cast<double>(config.gradient_accumulation));
  // Its outputs are the largest so far, but do not count, nor does the batch.
  for (const char* key : {"metrics", "logs", "loss"}) {
    INFO(key);
    CHECK(trainer_state(after, key) == trainer_state(before, key));
  }
  CHECK(bench.trainer->global_step() == 3);
  CHECK_THAT(bench.observer.notes, Contains("step 3 is skipped: the training loss is not a number"
                                            "; 1 of at most 1"));
  bench.trainer->train(10);
  const Logs logs = bench.trainer->train_logs();
  CHECK(*logs.find("skipped_steps") == 1);
  CHECK(std::isfinite(*logs.find("training_loss")));
  CHECK(*logs.find("learning_rate") == 0.01 / 10);  // nine updates
}

TEST_CASE("one bad step more than allowed ends the run, also after a restart") {
  TrainerConfig config = recovering(Recovery::skip, 2);
  config.loss_upper_bound = 1e-9;
  Bench first(config), second(config);
  first.trainer->initialize();
  first.trainer->train(2);
  CHECK(first.weight("w") == 0.5);
  second.trainer->restore(first.save());
  CHECK_THROWS_WITH(second.trainer->train(3),
                    Contains("at step 3") && Contains("after 2 skipped steps") &&
                        Contains("loss_upper_bound") && Contains("learning rate 0.01") &&
                        Contains("batch size 4"));
  CHECK(second.trainer->global_step() == 2);
}

TEST_CASE("a loss above the bound is accepted before recovery_begin_steps") {
  TrainerConfig config = test::trainer_config();
  config.loss_upper_bound = 1e-9;
  config.recovery_begin_steps = 4;
  Bench bench(config);
  bench.trainer->initialize();
  bench.trainer->train(3);
  CHECK(bench.weight("w") != 0.5);
  CHECK_THROWS_WITH(bench.trainer->train(4), Contains("at step 4"));
}

TEST_CASE("a loss that is not a number is bad before recovery_begin_steps, too") {
  TrainerConfig config = recovering(Recovery::restore, 1);
  config.recovery_begin_steps = 100;
  Bench bench(config, with_nan_at(2));
  bench.trainer->initialize();
  CHECK_THROWS_AS(bench.trainer->train(10), DivergedError);
}

TEST_CASE("after a bad batch the run continues from the checkpoint with the following data") {
  // The data repeats every seven batches: from step 7 on, the batches after the bad one (the 14th)
  // are those of a run without it.
  Bench bad(recovering(Recovery::restore, 1), with_nan_at(13));
  Bench good(recovering(Recovery::restore, 1));
  for (Bench* bench : {&bad, &good}) {
    bench->trainer->initialize();
    bench->trainer->train(7);
  }
  const test::MemoryCheckpoint checkpoint = bad.save();
  CHECK_THROWS_WITH(bad.trainer->train(20), Contains("loss is not a number at step 14"));
  bad.trainer->recover(checkpoint);
  CHECK(bad.trainer->global_step() == 7);
  for (Bench* bench : {&bad, &good}) bench->trainer->train(20);
  const test::MemoryCheckpoint end = bad.save(), expected = good.save();
  CHECK(end.files == expected.files);
  for (const char* key : {"metrics", "logs", "loss", "updates"}) {
    INFO(key);
    CHECK(trainer_state(end, key) == trainer_state(expected, key));
  }
  CHECK(to_toml(end.state("train_input")) == "{next = 27}");
  CHECK(*bad.trainer->train_logs().find("restores") == 1);
  CHECK(good.trainer->train_logs().find("restores") == nullptr);
}

TEST_CASE("restores are counted, and one more than configured ends the run") {
  TrainerConfig config = recovering(Recovery::restore, 2);
  config.loss_upper_bound = 1e-9;
  Bench first(config), second(config);
  first.trainer->initialize();
  const test::MemoryCheckpoint start = first.save();
  for (int trial = 0; trial < 2; ++trial) {
    CHECK_THROWS_AS(first.trainer->train(1), DivergedError);
    first.trainer->recover(start);
  }
  CHECK(first.weight("w") == 0.5);
  second.trainer->restore(first.save());
  try {
    second.trainer->train(1);
    FAIL("no error");
  } catch (const DivergedError& error) {
    FAIL("a third trial: " << error.what());
  } catch (const RunError& error) {
    CHECK_THAT(error.what(), Contains("at step 1, above trainer.loss_upper_bound = 1e-09") &&
                                 Contains("restored 2 times (trainer.recovery_max_trials)"));
  }
}

TEST_CASE("the loss of the steps before a bad one can still be written") {
  Bench bad(test::trainer_config(), with_nan_at(5)), good;
  bad.trainer->initialize();
  CHECK_THROWS_AS(bad.trainer->train(10), RunError);
  good.trainer->initialize();
  good.trainer->train(5);
  const Logs logs = bad.trainer->train_logs();
  CHECK(*logs.find("training_loss") == *good.trainer->train_logs().find("training_loss"));
  CHECK(bad.trainer->global_step() == 5);
}

TEST_CASE("non-finite weights are never saved") {
  for (const std::int64_t trials : {0, 1}) {
    TrainerConfig config = recovering(Recovery::restore, trials);
    config.learning_rate = ConfigOf<Schedule>("parts/Falling", Value::table({{"value", 1e38}}));
    Bench bench(config);
    bench.trainer->initialize();
    bench.trainer->train(1);
    if (trials > 0) {
      CHECK_THROWS_AS(bench.save(), DivergedError);
    } else {
      CHECK_THROWS_WITH(bench.save(), Contains("the norm of the weights is not finite at step 1"));
    }
  }
}

TEST_CASE("skipping steps requires a limit") {
  Value fields = Value::table({{"recovery", "skip"}});
  CHECK_THROWS_WITH(decode<TrainerConfig>(fields, "trainer"),
                    Contains("trainer.recovery") && Contains("recovery_max_trials"));
  fields = Value::table({{"validation_steps", 0}});
  CHECK_THROWS_WITH(decode<TrainerConfig>(fields, "trainer"),
                    Contains("trainer.validation_steps") && Contains("must be at least 1"));
}

TEST_CASE("a bad step changes no weight before it is undone") {
  Bench bench(recovering(Recovery::restore, 1), with_nan_at(3));
  bench.trainer->initialize();
  bench.trainer->train(3);
  const test::MemoryCheckpoint before = bench.save();
  CHECK_THROWS_AS(bench.trainer->train(4), DivergedError);
  CHECK(bench.save().files == before.files);
}

}  // namespace train_recovery_test
