// SPDX-License-Identifier: Apache-2.0
// The built-in actions, used in configs.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "run_fixture.h"
#include "support/shell.h"

namespace test = trivet::test;
using Catch::Contains;
using nlohmann::json;
using test::config;
using test::json_of;
using test::quoted;
using test::read_file;
using test::records;
using test::run;
using test::TempDir;
namespace fs = std::filesystem;

namespace {

// A small configs/vision/local.toml, followed by the given text.
fs::path config_with(const TempDir& dir, const std::string& text) {
  return dir.write("config.toml",
                   "base = ['" + config("vision/local.toml").string() +
                       "']\n"
                       "[task]\nmodel.hidden_dims = [16]\ntrain_input.batch_size = 32\n"
                       "eval_input.examples = 64\n[runtime]\nthreads = 1\n" +
                       text);
}

std::set<std::string> exports_in(const fs::path& workdir) {
  std::set<std::string> names;
  if (!fs::exists(workdir / "export")) return names;
  for (const auto& entry : fs::directory_iterator(workdir / "export")) {
    names.insert(entry.path().filename().string());
  }
  return names;
}

// The steps of an action's messages in log.jsonl.
std::vector<std::string> said(const fs::path& workdir) {
  std::istringstream lines(read_file(workdir / "log.jsonl"));
  std::vector<std::string> found;
  for (std::string line; std::getline(lines, line);) {
    const json event = json::parse(line);
    if (event.at("event") == "action") found.push_back(event.at("message"));
  }
  return found;
}

}  // namespace

TEST_CASE("a periodic action runs at the first loop after each multiple of its interval") {
  const TempDir temp;
  const fs::path file =
      config_with(temp,
                  "[trainer]\ntrain_steps = 300\nsteps_per_loop = 40\n[[trainer.train_actions]]\n"
                  "type = 'trivet/Periodic'\ninterval = 100\n"
                  "actions = [{ type = 'trivet/Export', name = 'each', max_to_keep = 2 }]\n");
  const auto result = run(file, temp / "run");
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  const std::vector<std::string> told = said(temp / "run");
  REQUIRE(told.size() == 3);
  CHECK_THAT(told[0], Contains("exported step 120 to"));
  CHECK_THAT(told[1], Contains("exported step 200 to"));
  CHECK_THAT(told[2], Contains("exported step 300 to"));
  CHECK(exports_in(temp / "run") == std::set<std::string>{"each-200", "each-300"});

  // An export is a checkpoint that can be read and started from.
  const std::string exported = (temp / "run/export/each-300").string();
  CHECK(test::trivet("ckpt verify " + quoted(exported)).exit_code == 0);
  REQUIRE(
      run(file, temp / "eval", "--mode eval task.init_checkpoint=" + quoted(exported)).exit_code ==
      0);
  const json of_run = records(temp / "run", "eval").back();
  CHECK(of_run.at("step") == 300);
  CHECK(records(temp / "eval", "eval").at(0).at("values") == of_run.at("values"));
}

TEST_CASE("a periodic action runs again for repeated loops after a recovery") {
  const TempDir temp;
  const fs::path file =
      config_with(temp,
                  "[trainer]\ntrain_steps = 60\ncheckpoint_interval = 40\n"
                  "[[trainer.train_actions]]\ntype = 'trivet/Periodic'\ninterval = 10\n"
                  "actions = ['trivet/Export']\n");
  REQUIRE(run(file, temp / "plain", "trainer.steps_per_loop=1").exit_code == 0);
  // The exit code depends on the following data and does not matter.
  const auto result = run(file, temp / "run",
                          "trainer.steps_per_loop=10 " + test::one_bad_step(temp / "plain", 51) +
                              "trainer.recovery_max_trials=2");
  INFO(result.output);
  const auto count = [&](const std::string& part) {
    const std::string log = read_file(temp / "run/log.jsonl");
    int found = 0;
    for (auto at = log.find(part); at != std::string::npos; at = log.find(part, at + 1)) ++found;
    return found;
  };
  const int restores = count("back to step 40"), further = count("back to step 0");
  CHECK(restores >= 1);
  CHECK(count("exported step 40 to") == 1 + further);
  CHECK(count("exported step 50 to") == 1 + restores + further);
}

TEST_CASE("a periodic action for evaluations counts from the last one, also after a restart") {
  const TempDir temp;
  const fs::path file =
      config_with(temp,
                  "[trainer]\ntrain_steps = 100\nsteps_per_loop = 10\ncheckpoint_interval = 60\n"
                  "[[trainer.eval_actions]]\ntype = 'trivet/Periodic'\ninterval = 45\n"
                  "actions = ['trivet/Export']\n");
  REQUIRE(run(file, temp / "run", "trainer.validation_interval=50").exit_code == 0);
  // From step 60, after the evaluation of step 50: 90 is the next multiple.
  fs::remove_all(temp / "run/checkpoints/step_00000100");
  const auto again = run(file, temp / "run", "trainer.validation_interval=70");
  INFO(again.output);
  REQUIRE(again.exit_code == 0);
  const std::vector<std::string> told = said(temp / "run");
  REQUIRE(told.size() == 3);
  CHECK_THAT(told[0], Contains("exported step 50 to"));
  CHECK_THAT(told[1], Contains("exported step 100 to"));
  CHECK_THAT(told[2], Contains("exported step 100 to"));
}

TEST_CASE("a NewBest action runs only for new best values, also after a restart") {
  const TempDir temp;
  // A rate at which the loss also rises.
  const fs::path file = config_with(
      temp,
      "[trainer]\nsteps_per_loop = 20\nvalidation_interval = 20\nlearning_rate = 0.05\n"
      "[[trainer.eval_actions]]\ntype = 'trivet/NewBest'\nmetric = 'validation_loss'\n"
      "goal = 'min'\nactions = [{ type = 'trivet/Export', name = 'best', max_to_keep = 0 }]\n");
  for (const char* steps : {"trainer.train_steps=140", "trainer.train_steps=300"}) {
    const auto result = run(file, temp / "run", steps);
    INFO(result.output);
    REQUIRE(result.exit_code == 0);
  }
  std::set<std::string> expected;
  const auto evaluations = records(temp / "run", "eval");
  double best = 0;
  for (const json& record : evaluations) {
    const double loss = record.at("values").at("validation_loss");
    if (!expected.empty() && loss >= best) continue;
    best = loss;
    expected.insert("best-" + std::to_string(record.at("step").get<int>()));
  }
  CHECK(evaluations.size() == 15);
  CHECK(expected.size() > 1);
  CHECK(expected.size() < evaluations.size());
  CHECK(exports_in(temp / "run") == expected);
  const json record = json_of(temp / "run/best_validation_loss.json");
  CHECK(record.at("metric") == "validation_loss");
  CHECK(record.at("value") == best);
}

TEST_CASE("an interrupted NewBest action runs again") {
  const TempDir temp;
  const fs::path file = config_with(
      temp,
      "[trainer]\ntrain_steps = 20\nvalidation_interval = 20\n[[trainer.eval_actions]]\n"
      "type = 'trivet/NewBest'\nmetric = 'accuracy'\nactions = ['trivet/Export']\n");
  const fs::path in_the_way = temp.write("run/export", "no directory");
  const auto failed = run(file, temp / "run");
  CHECK(failed.exit_code == 1);
  CHECK_THAT(failed.output, Contains("cannot export"));
  fs::remove(in_the_way);
  const auto again = run(file, temp / "run");
  INFO(again.output);
  CHECK(again.exit_code == 0);
  CHECK(exports_in(temp / "run") == std::set<std::string>{"model-20"});
  CHECK(fs::exists(temp / "run/best_accuracy.json"));
}

TEST_CASE("a condition compares a metric with its bounds") {
  const TempDir temp;
  const auto when = [](const std::string& bounds, const std::string& name) {
    return "[[trainer.train_actions]]\ntype = 'trivet/When'\n" + bounds +
           "\nactions = [{ type = 'trivet/Export', name = '" + name + "' }]\n";
  };
  const fs::path file =
      config_with(temp, "[trainer]\ntrain_steps = 40\nsteps_per_loop = 20\nlearning_rate = 0.25\n" +
                            when("metric = 'learning_rate'\nabove = 0.2\nbelow = 0.3", "between") +
                            when("metric = 'learning_rate'\nabove = 0.25", "above") +
                            when("metric = 'learning_rate'\nbelow = 0.25", "below") +
                            when("metric = 'skipped_steps'\nabove = -1", "none_yet"));
  const auto result = run(file, temp / "run", "--mode train");
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  CHECK(exports_in(temp / "run") == std::set<std::string>{"between-20", "between-40"});
}

TEST_CASE("a wrong action is rejected with its location before anything is created") {
  const TempDir temp;
  const std::pair<const char*, const char*> mistakes[] = {
      {"type = 'trivet/When'\nmetric = 'loss'\nactions = ['trivet/Export']", "set above or below"},
      {"type = 'trivet/Periodic'\ninterval = 0\nactions = ['trivet/Export']", "must be >= 1"},
      {"type = 'trivet/Periodic'\ninterval = 5", "actions"},
      {"type = 'trivet/Perodic'\ninterval = 5", "trivet/Periodic"},
      {"type = 'trivet/NewBest'\nmetric = 'x'\ngoal = 'large'\nactions = []", "goal"},
      {"type = 'trivet/Export'\nmax_to_keep = -1", "max_to_keep"},
  };
  for (const auto& [text, word] : mistakes) {
    INFO(text);
    const fs::path file =
        config_with(temp, "[[trainer.train_actions]]\n" + std::string(text) + "\n");
    const auto result = run(file, temp / "run");
    CHECK(result.exit_code == 2);
    CHECK_THAT(result.output, Contains("config.toml:") && Contains(word));
    CHECK_FALSE(fs::exists(temp / "run"));
  }
}
