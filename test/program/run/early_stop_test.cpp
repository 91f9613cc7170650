// SPDX-License-Identifier: Apache-2.0
// Actions that end the training, and what a run that continues takes up of its actions.
#include <signal.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include <catch2/catch.hpp>

#include "program/run/run_fixture.h"
#include "program/run/watched_run.h"
#include "support/disk/slow_disk.h"
#include "support/shell.h"

namespace early_stop_test {

using namespace trivet;
using Catch::Contains;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

// Evaluates every 20 steps, and saves at other steps. With 0.01 for the learning rate the loss
// improves steadily; a delta that no number exceeds makes patience count from the second one on.
fs::path config_with(const test::TempDir& dir, const std::string& action) {
  return dir.write("config.toml",
                   "base = ['" + test::config("vision/local.toml").string() +
                       "']\n"
                       "[task]\nmodel.hidden_dims = [16]\ntrain_input.batch_size = 32\n"
                       "eval_input.examples = 64\n[runtime]\nthreads = 1\n"
                       "[trainer]\ntrain_steps = 200\nsteps_per_loop = 10\n"
                       "validation_interval = 20\ncheckpoint_interval = 50\n" +
                       action);
}

const std::string kPatience =
    "[[trainer.eval_actions]]\ntype = 'trivet/EarlyStop'\nmetric = 'accuracy'\n"
    "min_delta = 1\npatience = 3\n";

std::string weights(const fs::path& workdir, std::int64_t step) {
  const fs::path checkpoint = test::checkpoint_of(workdir, step);
  return test::read_file(checkpoint / "model.safetensors") +
         test::read_file(checkpoint / "optimizer.safetensors");
}

std::int64_t end_of(const fs::path& workdir) {
  return test::json_of(workdir / "status.json").at("step");
}

}  // namespace

TEST_CASE("a run without improvement ends early, saved and done, and stays at its end") {
  const test::TempDir temp;
  const fs::path file = config_with(temp, kPatience);
  const auto first = test::run(file, temp / "run");
  INFO(first.output);
  REQUIRE(first.exit_code == 0);
  // The evaluation of step 20 is the best; those of 40, 60 and 80 do not improve on it.
  const json status = test::json_of(temp / "run/status.json");
  CHECK(status.at("state") == "done");
  CHECK(status.at("step") == 80);
  const std::string reason = status.at("message");
  CHECK_THAT(reason, Contains("accuracy did not improve on") && Contains("of step 20 in 3 events"));
  CHECK_THAT(first.output, Contains("ended     " + reason));
  CHECK(test::json_of(temp / "run/summary.json").at("stop_reason") == reason);
  CHECK(test::trivet("ckpt verify " + test::quoted((temp / "run").string())).exit_code == 0);
  REQUIRE(fs::exists(test::checkpoint_of(temp / "run", 80)));
  CHECK(test::records(temp / "run", "eval").size() == 4);

  // The weights are those of the same run that ends there by its number of steps.
  REQUIRE(
      test::run(file, temp / "short", "trainer.train_steps=80 trainer.eval_actions=[]").exit_code ==
      0);
  CHECK(weights(temp / "run", 80) == weights(temp / "short", 80));
  CHECK(test::json_of(temp / "short/summary.json").at("stop_reason").is_null());

  const std::string records = test::record_values(temp / "run");
  for (const fs::path& again : {file, temp / "run/config.toml"}) {
    const auto second = test::run(again, temp / "run", "trainer.train_steps=300");
    INFO(second.output);
    CHECK(second.exit_code == 0);
    CHECK_THAT(second.output, Contains("the training ended at step 80: " + reason));
    CHECK(end_of(temp / "run") == 80);
    CHECK(test::json_of(temp / "run/status.json").at("message") == reason);
    CHECK(test::record_values(temp / "run") == records);
  }
}

TEST_CASE("a run that ended early continues with other actions, and with what they remember") {
  const test::TempDir temp;
  REQUIRE(test::run(config_with(temp, kPatience), temp / "run").exit_code == 0);
  REQUIRE(end_of(temp / "run") == 80);
  const auto longer = test::run(temp / "config.toml", temp / "run",
                                "'trainer.eval_actions=[{type=\"trivet/EarlyStop\", "
                                "metric=\"accuracy\", min_delta=1, patience=5}]'");
  INFO(longer.output);
  REQUIRE(longer.exit_code == 0);
  CHECK_THAT(longer.output,
             Contains("the run had ended at step 80") && Contains("so it continues"));
  CHECK(end_of(temp / "run") == 120);

  const auto without = test::run(temp / "config.toml", temp / "run", "'trainer.eval_actions=[]'");
  INFO(without.output);
  REQUIRE(without.exit_code == 0);
  CHECK_THAT(without.output, Contains("trainer.eval_actions has other actions than before"));
  CHECK(end_of(temp / "run") == 200);
  CHECK(test::json_of(temp / "run/status.json").at("message") == "");
}

TEST_CASE("a target ends the training at the first number that reaches it") {
  const test::TempDir temp;
  const fs::path plain = config_with(temp, "");
  REQUIRE(test::run(plain, temp / "plain").exit_code == 0);
  const auto evaluations = test::records(temp / "plain", "eval");
  REQUIRE(evaluations.size() == 10);
  const double target = evaluations[4].at("values").at("validation_loss");
  std::int64_t expected = 0;
  for (const json& record : evaluations) {
    if (expected == 0 && record.at("values").at("validation_loss") <= target) {
      expected = record.at("step");
    }
  }
  const auto stopped =
      test::run(plain, temp / "run",
                "'trainer.eval_actions=[{type=\"trivet/EarlyStop\", metric=\"validation_loss\", "
                "goal=\"min\", target=" +
                    json(target).dump() + "}]'");
  INFO(stopped.output);
  REQUIRE(stopped.exit_code == 0);
  CHECK(end_of(temp / "run") == expected);
  CHECK_THAT(stopped.output, Contains("validation_loss") && Contains("reached the target"));
}

TEST_CASE("an action after a training loop ends the run, which still evaluates its last step") {
  const test::TempDir temp;
  const fs::path file = config_with(
      temp,
      "[[trainer.train_actions]]\ntype = 'trivet/Periodic'\ninterval = 25\n"
      "[[trainer.train_actions.actions]]\ntype = 'trivet/When'\nmetric = 'training_loss'\n"
      "above = 0.0\nactions = [{ type = 'trivet/Stop', reason = 'it is enough' }]\n");
  const auto result = test::run(file, temp / "run");
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  CHECK(end_of(temp / "run") == 30);
  CHECK(test::json_of(temp / "run/status.json").at("message") == "it is enough");
  CHECK(test::records(temp / "run", "eval").back().at("step") == 30);
  CHECK(fs::exists(test::checkpoint_of(temp / "run", 30)));
  // A mode that does not train has nothing to end.
  const auto evaluated = test::run(file, temp / "run", "--mode eval");
  INFO(evaluated.output);
  CHECK(evaluated.exit_code == 0);
  CHECK(test::json_of(temp / "run/status.json").at("step") == 30);
}

TEST_CASE("a run killed at any write of its actions' states ends like an uninterrupted run",
          "[slow]") {
  const test::TempDir temp;
  const fs::path file = config_with(temp, kPatience);
  REQUIRE(test::run(file, temp / "alone").exit_code == 0);
  const std::string states = test::read_file(temp / "alone/eval_actions.jsonl");
  int killed = 0;
  for (const char* name : {"eval_actions.jsonl", "metrics.jsonl"}) {
    for (std::uint64_t call = 1; call <= 30; ++call) {
      INFO(name << ", call " << call);
      const fs::path workdir = temp / (std::string(name) + std::to_string(call));
      const test::SlowDisk disk{.below = workdir / name, .kill = call};
      const auto first = test::run(file, workdir, "", disk.prefix());
      if (first.exit_code == 0) break;
      REQUIRE(first.exit_code == 128 + SIGKILL);
      ++killed;
      const auto again = test::run(file, workdir);
      INFO(again.output);
      REQUIRE(again.exit_code == 0);
      CHECK(end_of(workdir) == 80);
      CHECK(weights(workdir, 80) == weights(temp / "alone", 80));
      CHECK(test::record_values(workdir) == test::record_values(temp / "alone"));
      CHECK(test::read_file(workdir / "eval_actions.jsonl") == states);
    }
  }
  CHECK(killed >= 12);
}

TEST_CASE("a run warns of damaged states of actions and leaves them out") {
  const test::TempDir temp;
  const fs::path file = config_with(temp, kPatience);
  REQUIRE(test::run(file, temp / "run", "trainer.train_steps=50").exit_code == 0);
  const std::string states = test::read_file(temp / "run/eval_actions.jsonl");
  REQUIRE_THAT(states, Contains("\"waited\""));
  temp.write("run/eval_actions.jsonl", "{\"step\":20,\"types\":[\"trivet/Ear\n");
  const auto result = test::run(file, temp / "run");
  INFO(result.output);
  CHECK(result.exit_code == 0);
  CHECK_THAT(result.output, Contains("eval_actions.jsonl") && Contains("the line is left out"));
  // The evaluation of step 50 ended the first part; 60 is now the first number, 120 the third wait.
  CHECK(end_of(temp / "run") == 120);

  const auto wrong = test::run(file, temp / "fresh",
                               "'trainer.eval_actions=[{type=\"trivet/EarlyStop\", "
                               "metric=\"accuracy\"}]'");
  INFO(wrong.output);
  CHECK(wrong.exit_code == 2);
  CHECK_THAT(wrong.output, Contains("trainer.eval_actions[0].patience") &&
                               Contains("training would never end early"));
  CHECK_FALSE(fs::exists(temp / "fresh"));
  const auto unexplained = test::run(
      file, temp / "fresh", "'trainer.eval_actions=[{type=\"trivet/Stop\", reason=\"\"}]'");
  INFO(unexplained.output);
  CHECK(unexplained.exit_code == 2);
  CHECK_THAT(unexplained.output, Contains("trainer.eval_actions[0].reason"));
}

}  // namespace early_stop_test
