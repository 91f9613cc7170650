// SPDX-License-Identifier: Apache-2.0
// A run that diverges and may recover, through the real program.
#include <cstdint>
#include <filesystem>
#include <string>

#include <catch2/catch.hpp>

#include "program/run/run_fixture.h"
#include "support/shell.h"

using namespace trivet;
using Catch::Contains;

namespace {

// The first loss of ten classes is about ln(10) = 2.3, so every first step is a bad one.
const std::string kBad = "trainer.loss_upper_bound=0.5 trainer.recovery_max_trials=2 ";

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("a run that diverges goes back as often as it may, then fails with the count") {
  const test::TempDir temp;
  const auto result = test::run(test::config("vision/local.toml"), temp / "run", kBad);
  INFO(result.output);
  CHECK(result.exit_code == 1);
  CHECK(count(result.output, "back to step 0 (step_00000000)") == 2);
  CHECK_THAT(result.output, Contains("at step 1, above trainer.loss_upper_bound = 0.5, after the "
                                     "last checkpoint was restored 2 times"));
  CHECK(test::json_of(temp / "run/status.json").at("state") == "failed");
}

TEST_CASE("a run that skips bad steps fails after one too many") {
  const test::TempDir temp;
  const auto result =
      test::run(test::config("vision/local.toml"), temp / "run", kBad + "trainer.recovery=skip");
  INFO(result.output);
  CHECK(result.exit_code == 1);
  CHECK_THAT(result.output, Contains("at step 3") && Contains("after 2 skipped steps"));
}

TEST_CASE("a run may end or skip steps by the norm of its gradients") {
  const test::TempDir temp;
  const std::string clip = "trainer.gradient_clip.global_norm=1000 trainer.train_steps=40 ";
  REQUIRE(test::run(test::config("vision/local.toml"), temp / "plain", clip).exit_code == 0);
  // Norms above 0 are among the metrics of training, since they are computed for the limit.
  CHECK(test::json_of(temp / "plain/summary.json").at("train").at("gradient_norm").get<double>() >
        0);
  const std::string bound = "trainer.gradient_norm_upper_bound=1e-6 ";
  const auto ended = test::run(test::config("vision/local.toml"), temp / "ended", bound);
  INFO(ended.output);
  CHECK(ended.exit_code == 1);
  CHECK_THAT(ended.output,
             Contains("the norm of the gradients is ") &&
                 Contains(" at step 1, not below trainer.gradient_norm_upper_bound = 1e-06"));
  const auto restored = test::run(test::config("vision/local.toml"), temp / "restored",
                                  bound + "trainer.recovery_max_trials=1 ");
  INFO(restored.output);
  CHECK(restored.exit_code == 1);
  CHECK_THAT(restored.output, Contains("back to step 0 (step_00000000)") &&
                                  Contains("after the last checkpoint was restored 1 time"));
  const auto skipped = test::run(test::config("vision/local.toml"), temp / "skipped",
                                 bound + "trainer.recovery=skip trainer.recovery_max_trials=2 ");
  INFO(skipped.output);
  CHECK(skipped.exit_code == 1);
  CHECK_THAT(skipped.output, Contains("step 2 is skipped: the norm of the gradients is ") &&
                                 Contains("at step 3") && Contains("after 2 skipped steps"));
  // A bound that no step reaches changes no number.
  const auto high = test::run(test::config("vision/local.toml"), temp / "high",
                              clip + "trainer.gradient_norm_upper_bound=1e6 ");
  CHECK(high.exit_code == 0);
  CHECK(test::json_of(temp / "high/summary.json").at("train") ==
        test::json_of(temp / "plain/summary.json").at("train"));
}

TEST_CASE("a run with non-finite weights keeps its last good checkpoint") {
  const test::TempDir temp;
  const std::string words =
      "trainer.optimizer=optim/Sgd trainer.checkpoint_interval=5 trainer.train_steps=6 "
      "trainer.steps_per_loop=6 trainer.validation_interval=0 "
      "'trainer.learning_rate={type=\"optim/Piecewise\",boundaries=[5],values=[0.01,3e38]}' ";
  const auto result = test::run(test::config("vision/local.toml"), temp / "run", words);
  INFO(result.output);
  CHECK(result.exit_code == 1);
  CHECK_THAT(result.output, Contains("checkpoint of step 6 not saved: the norm of the weights is "
                                     "not finite") &&
                                Contains("step_00000005 is unchanged"));
  CHECK(test::trivet("ckpt verify " + test::quoted((temp / "run").string())).exit_code == 0);
  CHECK_FALSE(std::filesystem::exists(temp / "run/checkpoints/step_00000006"));
}

TEST_CASE("skipped steps are reported on the screen and in log.jsonl") {
  const test::TempDir temp;
  const auto result =
      test::run(test::config("vision/local.toml"), temp / "run", kBad + "trainer.recovery=skip -q");
  CHECK_THAT(result.output, Contains("warning: step 1 is skipped: the training loss is") &&
                                Contains("2 of at most 2"));
  CHECK_THAT(test::read_file(temp / "run/log.jsonl"), Contains("step 2 is skipped"));
}

TEST_CASE("a run that ends at a bad step has the metrics of the steps before it") {
  const test::TempDir temp;
  const std::string words = std::string(test::kSmallRun) +
                            "trainer.train_steps=40 trainer.steps_per_loop=1 --mode train ";
  REQUIRE(test::run(test::config("vision/local.toml"), temp / "alone", words).exit_code == 0);
  double worst = 0;
  std::int64_t step = 0;
  for (const auto& record : test::records(temp / "alone", "train")) {
    const double loss = record.at("values").at("training_loss");
    if (record.at("step") > 5 && loss > worst) step = record.at("step"), worst = loss;
  }
  const auto result = test::run(
      test::config("vision/local.toml"), temp / "run",
      words + "trainer.steps_per_loop=40 trainer.recovery_begin_steps=6 trainer.loss_upper_bound=" +
          std::to_string(worst - 1e-5));
  INFO(result.output);
  CHECK(result.exit_code == 1);
  const auto records = test::records(temp / "run", "train");
  REQUIRE(records.size() == 1);
  CHECK(records[0].at("step") == step - 1);
  CHECK(records[0].at("values").contains("training_loss"));
}
