// SPDX-License-Identifier: Apache-2.0
// The default trainer: the order of its calls to a task, its metrics, its saved state and its
// errors.
#include "train/default_trainer.h"

#include <array>
#include <cmath>
#include <memory>
#include <vector>

#include <catch2/catch.hpp>

#include "train_parts.h"
#include "trivet/error.h"
#include "trivet/plugin/registry.h"

namespace train_trainer_test {

using namespace trivet;
using Catch::Contains;
using Bench = test::TrainerBench;

TEST_CASE("a task is used in the order its header promises") {
  Bench bench;
  CHECK(test::journal().text() ==
        "task model metrics:train input:train metrics:eval input:eval optimizer");
  test::journal().clear();
  bench.trainer->initialize();
  bench.trainer->train(1);
  CHECK(test::journal().text() == "initialize");
  test::journal().clear();
  bench.trainer->evaluate(-1);
  bench.trainer->evaluate(-1);
  CHECK(test::journal().text() == "reset:eval");
}

TEST_CASE("denormals are zero on every thread of training and evaluation", "[tsan]") {
  const auto kept = [] {
    const test::DenormalsKept& all = test::denormals_kept();
    return std::array{all.step.load(), all.pool.load(), all.input.load()};
  };
  Bench bench(test::trainer_config(), test::task_config(), true, true, 2);
  const auto before = kept();
  bench.trainer->initialize();
  bench.trainer->train(5);
  bench.trainer->evaluate(-1);
  CHECK(kept() == before);
  volatile float tiny = 1e-30F, factor = 1e-10F;
  CHECK(tiny * factor != 0);  // the caller's setting
}

TEST_CASE("a run that only trains never touches the evaluation data") {
  Bench bench(test::trainer_config(), test::task_config(), true, false);
  bench.trainer->initialize();
  bench.trainer->train(3);
  CHECK_THAT(test::journal().text(), !Contains("eval"));
  CHECK_THROWS_AS(bench.trainer->evaluate(1), Error);
}

TEST_CASE("a run that only evaluates needs no optimizer, rate or training data") {
  TrainerConfig config;
  Bench bench(config, test::task_config(), false, true);
  bench.trainer->initialize();
  CHECK(test::journal().text() == "task model metrics:eval input:eval initialize");
  bench.trainer->evaluate(-1);
  CHECK_THROWS_AS(bench.trainer->train(1), Error);
}

TEST_CASE("the first losses and weights are those computed by hand") {
  // Batch 0: x = 0, 0.25, 0.5, 0.75, y = 3 x, w = 0.5, b = 0: error -2.5 x, loss 6.25 mean(x^2)
  // with mean(x^2) = 0.21875; dw = 2 mean(-2.5 x^2) = -1.09375, db = 2 mean(-2.5 x) = -1.875.
  // Momentum starts at 0 and the rate is 0.01, so w = 0.5109375 and b = 0.01875.
  Bench bench;
  bench.trainer->initialize();
  bench.trainer->train(1);
  CHECK(bench.observer.losses[0] == Approx(6.25 * 0.21875).epsilon(1e-6));
  CHECK(bench.trainer->parameters().find("w")->value().item() == Approx(0.5109375).epsilon(1e-6));
  CHECK(bench.trainer->parameters().find("b")->value().item() == Approx(0.01875).epsilon(1e-6));
}

TEST_CASE("training logs are means since the last ones") {
  Bench bench;
  bench.trainer->initialize();
  CHECK(bench.trainer->train_logs().empty());
  bench.trainer->train(3);
  const auto& losses = bench.observer.losses;
  const Logs logs = bench.trainer->train_logs();
  CHECK(*logs.find("training_loss") == Approx((losses[0] + losses[1] + losses[2]) / 3));
  CHECK(*logs.find("batches") == 1);
  CHECK(logs.find("largest") != nullptr);
  CHECK(*logs.find("learning_rate") == 0.01 / 4);  // of the next update, the fourth

  bench.trainer->train(4);
  CHECK(*bench.trainer->train_logs().find("training_loss") == Approx(losses[3]));
  CHECK(bench.trainer->train_logs().empty());
  CHECK(bench.observer.train_examples == 16);
}

TEST_CASE("an evaluation weights losses by their examples") {
  // Three batches of four, the last with three rows of padding: 9 examples.
  Bench bench(test::trainer_config(), test::task_config({}, Value::table({{"padding", 3}})));
  bench.trainer->initialize();
  const Logs logs = bench.trainer->evaluate(-1);
  double sum = 0;
  int count = 0;
  for (int batch = 0; batch < 3; ++batch) {
    for (int row = 0; row < (batch == 2 ? 1 : 4); ++row, ++count) {
      const double x = batch + row / 4.0;
      sum += 6.25 * x * x;  // (0.5 x - 3 x)^2
    }
  }
  CHECK(count == 9);
  CHECK(*logs.find("validation_loss") == Approx(sum / 9).epsilon(1e-6));
  CHECK(*logs.find("eval_batches") == 3);
  CHECK(*logs.find("reduced_at") == 0);
  CHECK(bench.observer.eval_examples == 9);
  CHECK(*bench.trainer->evaluate(2).find("eval_batches") == 2);
}

TEST_CASE("an evaluation changes nothing in training") {
  Bench with, without;
  for (Bench* bench : {&with, &without}) {
    bench->trainer->initialize();
    bench->trainer->train(5);
    if (bench == &with) bench->trainer->evaluate(-1);
    bench->trainer->train(10);
  }
  CHECK(with.observer.losses == without.observer.losses);
  CHECK(*with.trainer->train_logs().find("largest") ==
        *without.trainer->train_logs().find("largest"));
}

TEST_CASE("evaluation data without a batch is an error that names it") {
  Bench bench(test::trainer_config(), test::task_config({}, Value::table({{"batches", -1}})));
  bench.trainer->initialize();
  CHECK_THROWS_WITH(bench.trainer->evaluate(-1), Contains("no batch"));
}

TEST_CASE("the end of the training data ends training") {
  Bench bench(test::trainer_config(), test::task_config(Value::table({{"batches", 5}})));
  bench.trainer->initialize();
  bench.trainer->train(3);
  CHECK_FALSE(bench.trainer->exhausted());
  bench.trainer->train(100);
  CHECK(bench.trainer->exhausted());
  CHECK(bench.trainer->global_step() == 5);
}

TEST_CASE("a trainer that is restored after the end of its data trains to that end again") {
  Bench bench(test::trainer_config(), test::task_config(Value::table({{"batches", 5}})));
  bench.trainer->initialize();
  bench.trainer->train(3);
  const test::MemoryCheckpoint middle = bench.save();
  bench.trainer->train(100);
  const test::MemoryCheckpoint end = bench.save();
  bench.trainer->restore(middle);
  CHECK_FALSE(bench.trainer->exhausted());
  bench.trainer->train(100);
  CHECK(bench.trainer->exhausted());
  CHECK(bench.save().files == end.files);
}

TEST_CASE("a stop takes effect at the next step boundary") {
  Bench bench;
  bench.trainer->initialize();
  bench.observer.stop_after = 3;
  bench.trainer->train(10);
  CHECK(bench.trainer->global_step() == 3);
  bench.observer.stop_after = bench.observer.asked + 1;
  CHECK(bench.trainer->evaluate(-1).empty());
}

TEST_CASE("a non-finite loss ends the run with a complete report") {
  Bench bench(test::trainer_config(), test::task_with("explode_at", 3.0));
  bench.trainer->initialize();
  bench.trainer->train(2);
  CHECK_THROWS_WITH(bench.trainer->train(5), Contains("loss is not a number at step 3") &&
                                                 Contains("learning rate 0.0033") &&
                                                 Contains("batch size 4") &&
                                                 Contains("trainer.learning_rate"));
}

TEST_CASE("a loss above the bound ends the run") {
  TrainerConfig config = test::trainer_config();
  config.loss_upper_bound = 10;
  Bench bench(config);
  bench.trainer->initialize();
  CHECK_THROWS_WITH(bench.trainer->train(50), Contains("trainer.loss_upper_bound = 10"));
  CHECK(bench.observer.losses.back() <= 10);
}

TEST_CASE("an exception of a task names the step") {
  Bench bench(test::trainer_config(), test::task_with("throws", true));
  bench.trainer->initialize();
  CHECK_THROWS_WITH(bench.trainer->train(1), Contains("training step 1") && Contains("index 7"));
}

TEST_CASE("an error of an input names its plugin") {
  Bench bench(test::trainer_config(), test::task_config(Value::table({{"fail_at", 1}})));
  bench.trainer->initialize();
  try {
    bench.trainer->train(5);
    FAIL("no error");
  } catch (const InputError& error) {
    CHECK(error.plugin() == "parts");
    CHECK_THAT(error.what(), Contains("record 1"));
  }
  CHECK(bench.trainer->global_step() == 1);
}

TEST_CASE("a missing learning rate is reported before anything is built") {
  TrainerConfig config = test::trainer_config();
  config.learning_rate = {};
  CHECK_THROWS_WITH(Bench(config), Contains("trainer.learning_rate"));
}

TEST_CASE("a trainer restored at any step continues with the same bits") {
  constexpr std::int64_t kSteps = 20;
  Bench straight;
  straight.trainer->initialize();
  straight.trainer->train(kSteps);
  test::MemoryCheckpoint expected;
  straight.trainer->save(expected);
  const Logs expected_logs = straight.trainer->train_logs();

  for (std::int64_t stop = 0; stop <= kSteps; ++stop) {
    test::MemoryCheckpoint saved, end;
    {
      Bench first;
      first.trainer->initialize();
      first.trainer->train(stop);
      first.trainer->save(saved);
    }
    Bench second;
    second.trainer->restore(saved);
    REQUIRE(second.trainer->global_step() == stop);
    second.trainer->train(kSteps);
    second.trainer->save(end);
    REQUIRE(end.files == expected.files);
    REQUIRE(end.states == expected.states);
    const Logs logs = second.trainer->train_logs();
    REQUIRE(std::vector(logs.begin(), logs.end()) ==
            std::vector(expected_logs.begin(), expected_logs.end()));
  }
}

TEST_CASE("after two steps a training step allocates no system memory") {
  Bench bench;
  bench.trainer->initialize();
  bench.trainer->train(2);
  const auto before = bench.device->memory().backend_allocations;
  bench.trainer->train(100);
  CHECK(bench.device->memory().backend_allocations == before);
}

}  // namespace train_trainer_test
