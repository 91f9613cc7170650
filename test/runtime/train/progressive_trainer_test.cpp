// SPDX-License-Identifier: Apache-2.0
// Training in stages: the initial weights of a stage, its start and end, and that a run stopped in
// any stage continues with the same bits.
#include "train/progressive_trainer.h"

#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "train_parts.h"
#include "trivet/error.h"
#include "trivet/plugin/registry.h"

namespace train_progressive_test {

using namespace trivet;
using Catch::Contains;

namespace {

struct Bench {
  explicit Bench(ProgressiveConfig config, bool train = true) : device(test::open_tiny()) {
    test::register_parts();
    TaskContext task_context{*device, {}};
    task = make(test::task_config(), task_context);
    TrainerContext context{*task, *device, RngKey(7), train, true, observer};
    trainer = std::make_unique<ProgressiveTrainer>(std::move(config), context);
  }
  test::MemoryCheckpoint train(std::int64_t target) {
    trainer->train(target);
    return save();
  }
  test::MemoryCheckpoint save() {
    test::MemoryCheckpoint checkpoint;
    trainer->save(checkpoint);
    return checkpoint;
  }
  float weight(const char* path) { return trainer->parameters().find(path)->value().item(); }

  std::unique_ptr<Device> device;
  std::unique_ptr<Task> task;
  test::TestObserver observer;
  std::unique_ptr<ProgressiveTrainer> trainer;
};

ProgressiveConfig stages(std::vector<StageConfig> list) {
  ProgressiveConfig config;
  static_cast<TrainerConfig&>(config) = test::trainer_config();
  config.stages = std::move(list);
  return config;
}

StageConfig stage(std::int64_t steps) {
  StageConfig config;
  config.steps = steps;
  return config;
}

StageConfig with_model(std::int64_t steps, Value fields) {
  StageConfig config = stage(steps);
  config.model = {"parts/Model", std::move(fields)};
  return config;
}

StageConfig curved(std::int64_t steps) {
  return with_model(steps, Value::table({{"curved", true}}));
}

ConfigOf<Input> input(std::int64_t batch_size, std::int64_t nan_at = -1) {
  return {"parts/Input", Value::table({{"batch_size", batch_size}, {"nan_at", nan_at}})};
}

ConfigOf<Schedule> rate(double value) {
  return {"parts/Falling", Value::table({{"value", value}})};
}

// Other data, then a larger model, then another rate.
ProgressiveConfig four_stages() {
  StageConfig data = stage(4);
  data.train_input = input(2);
  StageConfig slow = curved(0);
  slow.learning_rate = rate(0.001);
  ProgressiveConfig config = stages({stage(5), data, curved(6), slow});
  config.ema.decay = 0.9;
  return config;
}

std::string problems_of(const ProgressiveConfig& config) {
  Diagnostics diagnostics;
  check_rules<ProgressiveConfig>(encode(config), "trainer", diagnostics);
  std::string text;
  for (const Diagnostic& problem : diagnostics.list()) text += to_string(problem) + "\n";
  return text;
}

}  // namespace

TEST_CASE("equal stages are one run of the default trainer") {
  Bench staged(stages({stage(3), stage(4), stage(0)}));
  TaskContext task_context{*staged.device, {}};
  const auto task = make(test::task_config(), task_context);
  TrainerContext context{*task, *staged.device, RngKey(7), true, true, staged.observer};
  DefaultTrainer plain(test::trainer_config(), context);
  staged.trainer->initialize();
  plain.initialize();
  plain.train(12);
  test::MemoryCheckpoint expected;
  plain.save(expected);
  const test::MemoryCheckpoint end = staged.train(12);
  CHECK(staged.trainer->stage() == 2);
  CHECK(end.files == expected.files);
  CHECK(end.state("trainer") == expected.state("trainer"));
  CHECK(end.state("train_input") == expected.state("train_input"));
  CHECK_THAT(staged.observer.notes, Contains("stage 2 of 3: continues with all weights"));
}

TEST_CASE("a stage with another model starts from the weights of the same paths") {
  StageConfig second = curved(0);
  second.learning_rate = rate(1e-6);  // so that one update is a small one
  Bench bench(stages({stage(5), second}));
  bench.trainer->initialize();
  bench.trainer->train(5);
  CHECK(bench.trainer->stage() == 0);
  const float w = bench.weight("w");
  CHECK(w != 0.5f);
  CHECK(bench.trainer->parameters().find("c") == nullptr);
  bench.trainer->train(6);
  CHECK(bench.trainer->stage() == 1);
  CHECK(bench.weight("c") != 0.25f);
  CHECK(bench.weight("c") == Approx(0.25).margin(0.01));
  CHECK(bench.weight("w") != w);
  CHECK(bench.weight("w") == Approx(w).margin(0.01));
  // The optimizer is new: the schedule's second value comes next, not its seventh.
  CHECK(*bench.trainer->train_logs().find("learning_rate") == 1e-6 / 2);
  CHECK_THAT(bench.observer.notes,
             Contains("stage 2 of 2: 2 of 3 variables from stage 1 of 2; 1 missing"));
}

TEST_CASE("a stage with only another rate keeps the weights and starts a new optimizer") {
  StageConfig slow = stage(0);
  slow.learning_rate = rate(0);
  Bench bench(stages({stage(5), slow}));
  bench.trainer->initialize();
  const test::MemoryCheckpoint before = bench.train(5), after = bench.train(6);
  CHECK(after.files.at("model") == before.files.at("model"));
  CHECK(after.state("trainer").find("updates")->as_integer() == 1);
}

TEST_CASE("a stage with other settings of the same optimizer restarts it") {
  StageConfig lasting = stage(0);
  lasting.optimizer = {"parts/Momentum", Value::table({{"decay", 0.75}})};
  Bench bench(stages({stage(5), lasting}));
  bench.trainer->initialize();
  const test::MemoryCheckpoint before = bench.train(5), after = bench.train(6);
  CHECK(after.files.at("model") != before.files.at("model"));
  CHECK(after.state("trainer").find("updates")->as_integer() == 1);
}

TEST_CASE("rules of a stage rename weights, and ignored ones are initialized") {
  StageConfig renamed = with_model(0, Value::table({{"slope", "slant"}}));
  renamed.learning_rate = rate(0);
  renamed.transfer.rules = {{"slant", "w"}};
  renamed.transfer.ignore = {"b"};
  Bench bench(stages({stage(5), renamed}));
  bench.trainer->initialize();
  bench.trainer->train(5);
  const float w = bench.weight("w");
  bench.trainer->train(6);
  CHECK(bench.weight("slant") == w);
  CHECK(bench.weight("b") == 0);
}

TEST_CASE("a stage without all required weights is an error that names every variable") {
  StageConfig strict = curved(0);
  strict.transfer.partial = false;
  Bench bench(stages({stage(2), strict}));
  bench.trainer->initialize();
  bench.trainer->train(2);
  CHECK_THROWS_WITH(bench.trainer->train(3), Contains("loaded  w") && Contains("missing  c") &&
                                                 Contains("trainer.stages[1].transfer"));
}

TEST_CASE("a pattern of a stage that matches no variable is an error that names the location") {
  StageConfig wrong = curved(0);
  wrong.transfer.ignore = {"bb"};
  Bench bench(stages({stage(2), wrong}));
  bench.trainer->initialize();
  CHECK_THROWS_WITH(bench.trainer->train(3), Contains("trainer.stages[1].transfer.ignore"));
}

TEST_CASE("a variable may be frozen in one stage and trained in the next") {
  StageConfig frozen = stage(3);
  frozen.frozen = std::vector<std::string>{"w"};
  Bench bench(stages({frozen, stage(0)}));
  bench.trainer->initialize();
  bench.trainer->train(3);
  CHECK(bench.weight("w") == 0.5f);
  CHECK(bench.weight("b") != 0);
  bench.trainer->train(4);
  CHECK(bench.weight("w") != 0.5f);
}

TEST_CASE("trainable of a stage replaces frozen of the trainer") {
  StageConfig first = stage(3);
  first.trainable = std::vector<std::string>{"b"};
  ProgressiveConfig config = stages({first, stage(0)});
  config.frozen = {"b"};
  Bench bench(config);
  bench.trainer->initialize();
  bench.trainer->train(3);
  CHECK(bench.weight("w") == 0.5f);
  const float b = bench.weight("b");
  CHECK(b != 0);
  bench.trainer->train(4);
  CHECK(bench.weight("w") != 0.5f);
  CHECK(bench.weight("b") == b);
}

TEST_CASE("a stage sets only one of trainable and frozen, by patterns") {
  const auto problems_of = [](const StageConfig& wrong) {
    try {
      decode<StageConfig>(encode(wrong), "trainer.stages[0]");
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  StageConfig both = stage(3);
  both.frozen = both.trainable = std::vector<std::string>{"b"};
  CHECK_THAT(problems_of(both), Contains("trainable") && Contains("is set, and frozen, too"));
  StageConfig broken = stage(3);
  broken.trainable = std::vector<std::string>{"(b"};
  CHECK_THAT(problems_of(broken), Contains("trainable") && Contains("(b"));
  broken.trainable.reset();
  CHECK(problems_of(broken).empty());
  broken.frozen = std::vector<std::string>{"(b"};
  CHECK_THAT(problems_of(broken), Contains("frozen") && Contains("(b"));
}

TEST_CASE("a stage trains and evaluates on its own data, others on the task's") {
  StageConfig small = stage(3);
  small.train_input = input(2);
  small.eval_input = {"parts/Input", Value::table({{"batch_size", 4}, {"batches", 5}})};
  Bench bench(stages({small, stage(0)}));
  bench.trainer->initialize();
  bench.trainer->train(3);
  CHECK(bench.observer.train_examples == 6);
  CHECK(*bench.trainer->evaluate(-1).find("eval_batches") == 5);  // at its end: still this stage
  bench.trainer->train(4);
  CHECK(bench.observer.train_examples == 10);
  CHECK(*bench.trainer->evaluate(-1).find("eval_batches") == 3);
}

TEST_CASE("evaluation data is opened before a stage trains, and once for stages that share it") {
  const auto times_opened = [] {
    const std::string text = test::journal().text();
    int count = 0;
    for (auto at = text.find("input:eval"); at != std::string::npos;
         at = text.find("input:eval", at + 1)) {
      ++count;
    }
    return count;
  };
  test::journal().clear();
  StageConfig own = stage(0);
  own.eval_input = {"parts/Input", Value::table({{"batch_size", 2}, {"batches", 1}})};
  Bench bench(stages({stage(2), curved(2), own}));
  CHECK(times_opened() == 1);
  bench.trainer->initialize();
  bench.trainer->train(3);
  CHECK(bench.trainer->stage() == 1);
  const Logs second = bench.trainer->evaluate(-1);
  CHECK(times_opened() == 1);
  bench.trainer->train(5);
  CHECK(times_opened() == 2);
  const Logs third = bench.trainer->evaluate(-1);
  CHECK(*second.find("eval_batches") == 3);
  CHECK(*third.find("eval_batches") == 1);
  // Another process that continues in the second stage opens data that both stages share once.
  Bench again(stages({stage(2), curved(2), own}));
  Bench first(stages({stage(2), curved(2), own}));
  first.trainer->initialize();
  const test::MemoryCheckpoint saved = first.train(3);
  const int before = times_opened();
  again.trainer->restore(saved);
  CHECK(times_opened() == before);
}

TEST_CASE("sums for the logs continue over the end of a stage") {
  Bench bench(stages({stage(2), curved(0)}));
  bench.trainer->initialize();
  bench.trainer->train(3);
  const auto& losses = bench.observer.losses;
  const Logs logs = bench.trainer->train_logs();
  CHECK(*logs.find("training_loss") == Approx((losses[0] + losses[1] + losses[2]) / 3));
}

TEST_CASE("stages restored at any step continue with the same bits, in the stage of the step") {
  constexpr std::int64_t kSteps = 20;
  Bench straight(four_stages());
  straight.trainer->initialize();
  const test::MemoryCheckpoint expected = straight.train(kSteps);
  CHECK(straight.trainer->stage() == 3);
  for (std::int64_t stop = 0; stop <= kSteps; ++stop) {
    Bench first(four_stages()), second(four_stages());
    first.trainer->initialize();
    const test::MemoryCheckpoint saved = first.train(stop);
    second.trainer->restore(saved);
    const std::size_t stage = stop <= 5 ? 0 : stop <= 9 ? 1 : stop <= 15 ? 2 : 3;
    INFO("stopped at " << stop);
    REQUIRE(second.trainer->stage() == stage);
    REQUIRE(second.trainer->global_step() == stop);
    const test::MemoryCheckpoint end = second.train(kSteps);
    REQUIRE(end.files == expected.files);
    REQUIRE(end.states == expected.states);
  }
}

TEST_CASE("a standalone evaluation uses the model of the saved stage") {
  Bench trained(four_stages()), evaluating(four_stages(), false);
  trained.trainer->initialize();
  const test::MemoryCheckpoint saved = trained.train(12);
  evaluating.trainer->restore(saved);
  CHECK(evaluating.trainer->stage() == 2);
  CHECK(*evaluating.trainer->evaluate(-1).find("validation_loss") ==
        *trained.trainer->evaluate(-1).find("validation_loss"));
}

TEST_CASE("a bad step goes back within its stage or into the previous one and gets new data") {
  const auto config = [](std::int64_t nan_at) {
    StageConfig second = curved(0);
    second.train_input = input(4, nan_at);
    ProgressiveConfig all = stages({stage(5), second});
    all.recovery_max_trials = 1;
    return all;
  };
  // The data repeats every seven batches, so the batches after the bad one equal those after the
  // checkpoint: the first of the second stage, or its third.
  struct Case {
    std::int64_t saved_at, bad_batch;
    std::size_t stage;
  };
  const Case given = GENERATE(Case{4, 6, 0}, Case{7, 8, 1});
  INFO("saved at " << given.saved_at);
  Bench bad(config(given.bad_batch)), good(config(-1));
  for (Bench* bench : {&bad, &good}) bench->trainer->initialize();
  const test::MemoryCheckpoint saved = bad.train(given.saved_at);
  CHECK_THROWS_AS(bad.trainer->train(20), DivergedError);
  CHECK(bad.trainer->global_step() == 5 + given.bad_batch);
  bad.trainer->recover(saved);
  CHECK(bad.trainer->global_step() == given.saved_at);
  CHECK(bad.trainer->stage() == given.stage);
  CHECK(bad.train(20).files == good.train(20).files);
  CHECK(*bad.trainer->train_logs().find("restores") == 1);
}

TEST_CASE("a bad step after going back into another stage counts as the next trial") {
  StageConfig second = curved(0);
  second.train_input = input(4, 1);
  ProgressiveConfig config = stages({stage(2), second});
  config.recovery_max_trials = 1;
  config.loss_upper_bound = 1e5;
  Bench bench(config);
  bench.trainer->initialize();
  const test::MemoryCheckpoint saved = bench.train(2);
  CHECK_THROWS_AS(bench.trainer->train(10), DivergedError);
  bench.trainer->recover(saved);
  CHECK(bench.save().state("trainer").find("recovery_trials")->as_integer() == 1);
}

TEST_CASE("invalid stages are rejected") {
  CHECK_THAT(problems_of(stages({})), Contains("trainer.stages") && Contains("no stage"));
  CHECK_THAT(problems_of(stages({stage(3), stage(0), stage(0)})),
             Contains("trainer.stages[1].steps") && !Contains("stages[2]"));
  StageConfig wrong = stage(1);
  wrong.transfer.ignore = {"("};
  CHECK_THAT(problems_of(stages({stage(3), wrong})), Contains("stages[1].transfer.ignore"));
}

TEST_CASE("a batch of a later stage that cannot be split is rejected before the first step") {
  StageConfig odd = stage(0);
  odd.train_input = input(3);
  ProgressiveConfig config = stages({stage(2), odd});
  config.gradient_accumulation = 2;
  CHECK_THROWS_WITH(Bench(config), Contains("batch_size = 3") && Contains("2 equal parts"));
}

TEST_CASE("a checkpoint of another trainer, or with more stages, is rejected") {
  Bench bench(stages({stage(2), stage(0)}));
  bench.trainer->initialize();
  test::MemoryCheckpoint plain = bench.train(3), other = plain;
  plain.states.erase("progressive");
  CHECK_THROWS_WITH(bench.trainer->restore(plain),
                    Contains("was not written by trivet/Progressive"));
  other.states.set_path("progressive.stage", 2);
  CHECK_THROWS_WITH(bench.trainer->restore(other),
                    Contains("was saved in stage 3, but the config has 2 stages"));
}

}  // namespace train_progressive_test
