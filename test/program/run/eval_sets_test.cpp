// SPDX-License-Identifier: Apache-2.0
// Several evaluation sets (task.eval_inputs): intervals, names, files, and the modes that run one
// program on them.
#include <signal.h>

#include <cstdint>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "program/run/run_fixture.h"
#include "program/run/watched_run.h"
#include "support/disk/slow_disk.h"
#include "support/shell.h"

namespace eval_sets_test {

using namespace trivet;
using Catch::Contains;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

const std::string kSets =
    "[[task.eval_inputs]]\nname = 'hard'\ninterval = 20\noutputs = true\n"
    "input = '${task.eval_input}'\n"
    "[[task.eval_inputs]]\nname = 'small'\nsteps = 1\ninput = '${task.eval_input}'\n"
    "[[task.eval_inputs]]\nname = 'unlabeled'\ninterval = 0\nprogram = 'infer'\n"
    "input = '${task.eval_input}'\n";

// The main set is due at 30 and 60, "hard" at each 20, "small" as the main one, and "unlabeled" at
// the end.
fs::path config_with(const test::TempDir& dir, const std::string& more) {
  return dir.write("config.toml",
                   "base = ['" + test::config("vision/local.toml").string() +
                       "']\n"
                       "[task]\nmodel.hidden_dims = [16]\ntrain_input.batch_size = 32\n"
                       "eval_input = { examples = 100, batch_size = 32 }\n"
                       "[runtime]\nthreads = 1\n"
                       "[trainer]\ntrain_steps = 60\nsteps_per_loop = 10\n"
                       "validation_interval = 30\ncheckpoint_interval = 25\n" +
                       more);
}

std::vector<json> lines_of(const fs::path& file) {
  std::vector<json> lines;
  std::istringstream text(test::read_file(file));
  for (std::string line; std::getline(text, line);) lines.push_back(json::parse(line));
  return lines;
}

std::set<std::string> sets_in(const json& record) {
  std::set<std::string> sets;
  for (const auto& [name, value] : record.at("values").items()) {
    sets.insert(name.substr(0, name.find('/') == std::string::npos ? 0 : name.find('/')));
  }
  return sets;
}

std::string outputs(const fs::path& workdir, const std::string& set, std::int64_t step) {
  return test::read_file(workdir / "eval_inputs" / set /
                         ("outputs_step_" + std::to_string(step) + ".jsonl"));
}

}  // namespace

TEST_CASE("each evaluation set has its interval, its names and its files") {
  const test::TempDir temp;
  const auto result = test::run(config_with(temp, kSets), temp / "run");
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  const auto records = test::records(temp / "run", "eval");
  REQUIRE(records.size() == 4);
  using Sets = std::set<std::string>;
  const std::vector<std::pair<int, Sets>> due = {{20, {"hard"}},
                                                 {30, {"", "small"}},
                                                 {40, {"hard"}},
                                                 {60, {"", "hard", "small", "unlabeled"}}};
  for (std::size_t i = 0; i < due.size(); ++i) {
    CHECK(records[i].at("step") == due[i].first);
    CHECK(sets_in(records[i]) == due[i].second);
  }
  const json& last = records.back().at("values");
  CHECK(last.at("hard/accuracy") == last.at("accuracy"));
  CHECK(last.at("hard/validation_loss") == last.at("validation_loss"));
  CHECK(last.at("unlabeled/examples") == 100);

  // One batch of 32 examples, as an evaluation of one step has them.
  const auto one = test::run(temp / "config.toml", temp / "run",
                             "--mode eval task.eval_inputs=[] trainer.validation_steps=1");
  INFO(one.output);
  REQUIRE(one.exit_code == 0);
  const json evaluated = test::records(temp / "run/evals/1", "eval").back().at("values");
  CHECK(evaluated.at("accuracy") == last.at("small/accuracy"));

  CHECK(fs::exists(temp / "run/confusion_matrix.csv"));
  CHECK(test::read_file(temp / "run/eval_inputs/hard/confusion_matrix.csv") ==
        test::read_file(temp / "run/confusion_matrix.csv"));
  // The line of an example does not depend on the program.
  CHECK(outputs(temp / "run", "hard", 60) == outputs(temp / "run", "unlabeled", 60));
  const auto lines = lines_of(temp / "run/eval_inputs/hard/outputs_step_20.jsonl");
  REQUIRE(lines.size() == 100);
  CHECK(lines[99].at("example") == 99);
  CHECK(lines[0].at("probabilities").size() == 10);
  CHECK_FALSE(fs::exists(temp / "run/eval_inputs/small/outputs_step_60.jsonl"));
}

TEST_CASE("sets do not change the training, and a set alone needs no eval_input") {
  const test::TempDir temp;
  REQUIRE(test::run(config_with(temp, kSets), temp / "sets").exit_code == 0);
  REQUIRE(test::run(config_with(temp, ""), temp / "plain").exit_code == 0);
  const auto weights = [&](const char* run) {
    return test::read_file(test::checkpoint_of(temp / run, 60) / "model.safetensors");
  };
  CHECK(weights("sets") == weights("plain"));
  const auto alone = test::run(
      temp / "config.toml", temp / "alone",
      "task.eval_input=none 'task.eval_inputs=[{name=\"only\", input={type=\"data/Synthetic\", "
      "image_shape=[16,16,1], num_classes=10, examples=64, batch_size=32, seed=1}}]'");
  INFO(alone.output);
  REQUIRE(alone.exit_code == 0);
  CHECK(sets_in(test::records(temp / "alone", "eval").back()) == std::set<std::string>{"only"});
  CHECK(weights("alone") == weights("plain"));
}

TEST_CASE("the best checkpoint and the early end can follow a metric of a set") {
  const test::TempDir temp;
  const fs::path file = config_with(temp,
                                    "best_checkpoint = { metric = 'hard/accuracy', goal = 'max' }\n"
                                    "[[trainer.eval_actions]]\ntype = 'trivet/EarlyStop'\n"
                                    "metric = 'hard/accuracy'\nmin_delta = 1\npatience = 1\n" +
                                        kSets);
  const auto result = test::run(file, temp / "run");
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  // The evaluation of step 30 has no metric of "hard", so the first wait is that of step 40.
  CHECK(test::json_of(temp / "run/status.json").at("step") == 40);
  const json best = test::json_of(temp / "run/best/best.json");
  CHECK(best.at("metric") == "hard/accuracy");

  const auto misspelled =
      test::run(file, temp / "wrong", "trainer.best_checkpoint.metric=hard/acuracy");
  INFO(misspelled.output);
  CHECK(misspelled.exit_code == 2);
  CHECK_THAT(misspelled.output,
             Contains("trainer.best_checkpoint.metric") && Contains("hard/accuracy"));
  CHECK_FALSE(fs::exists(temp / "wrong"));
}

TEST_CASE("a run killed at any write of the records of sets ends with the same bytes", "[slow]") {
  const test::TempDir temp;
  const fs::path file = config_with(
      temp, "validation_data = 'continue'\nvalidation_steps = 3\n" + kSets +
                "[[task.eval_inputs]]\n"
                "name = 'next'\nsteps = 2\ninterval = 20\ninput = '${task.eval_input}'\n");
  REQUIRE(test::run(file, temp / "alone").exit_code == 0);
  int killed = 0;
  for (const char* name : {"eval_inputs/hard", "metrics.jsonl"}) {
    for (std::uint64_t call = 1; call <= 40; ++call) {
      INFO(name << ", call " << call);
      const fs::path workdir =
          temp / (std::string(name[0] == 'e' ? "set" : "metrics") + std::to_string(call));
      const test::SlowDisk disk{.below = workdir / name, .kill = call};
      const auto first = test::run(file, workdir, "", disk.prefix());
      if (first.exit_code == 0) break;
      REQUIRE(first.exit_code == 128 + SIGKILL);
      ++killed;
      const auto again = test::run(file, workdir);
      INFO(again.output);
      REQUIRE(again.exit_code == 0);
      CHECK(test::record_values(workdir) == test::record_values(temp / "alone"));
      for (const std::int64_t step : {20, 40, 60}) {
        CHECK(outputs(workdir, "hard", step) == outputs(temp / "alone", "hard", step));
      }
      std::size_t files = 0;
      for (const auto& entry : fs::directory_iterator(workdir / "eval_inputs/hard")) {
        INFO(entry.path());
        ++files;
        CHECK(entry.path().extension() != ".tmp");
      }
      CHECK(files == 4);  // three outputs and the confusion matrix
    }
  }
  CHECK(killed >= 10);
}

TEST_CASE("mode infer predicts the examples of a trained run once") {
  const test::TempDir temp;
  const fs::path file = config_with(temp, "");
  REQUIRE(test::run(file, temp / "run").exit_code == 0);
  const auto inferred = test::run(file, temp / "run", "--mode infer");
  INFO(inferred.output);
  REQUIRE(inferred.exit_code == 0);
  CHECK_THAT(inferred.output, !Contains("the config differs"));
  const fs::path records = temp / "run/evals/1";
  CHECK(test::records(records, "eval").back().at("values") == json{{"eval_input/examples", 100}});
  const auto lines = lines_of(records / "eval_inputs/eval_input/outputs_step_60.jsonl");
  REQUIRE(lines.size() == 100);

  // The share of right classes is the accuracy of the evaluation.
  const auto evaluated = test::run(file, temp / "run", "--mode eval");
  REQUIRE(evaluated.exit_code == 0);
  const auto decoded = test::run(file, temp / "run", "--mode decode");
  INFO(decoded.output);
  CHECK(decoded.exit_code == 2);
  CHECK_THAT(decoded.output, Contains("vision/ImageClassification") && Contains("cannot decode"));
  const auto nothing =
      test::run(test::config("vision/multitask.toml"), temp / "tasks", "--mode infer");
  INFO(nothing.output);
  CHECK(nothing.exit_code == 2);
  CHECK_THAT(nothing.output, Contains("mode \"infer\" has no data"));
}

TEST_CASE("sets of one name, of a bad name and of a program without what it needs are refused") {
  const test::TempDir temp;
  const auto refused = [&](const std::string& sets) {
    const fs::path file = config_with(temp, sets);
    const auto result = test::run(file, temp / "run");
    INFO(result.output);
    CHECK(result.exit_code == 2);
    CHECK_FALSE(fs::exists(temp / "run"));
    return result.output;
  };
  const std::string set = "[[task.eval_inputs]]\ninput = '${task.eval_input}'\n";
  CHECK_THAT(refused(set + "name = 'a'\n" + set + "name = 'a'\n"),
             Contains("task.eval_inputs[1].name") && Contains("eval_inputs[0]"));
  CHECK_THAT(refused(set + "name = '../a'\n"), Contains("task.eval_inputs[0].name"));
  CHECK_THAT(refused(set + "name = 'eval'\n"), Contains("prefix of all metrics"));
  CHECK_THAT(refused(set), Contains("task.eval_inputs[0]") && Contains("'name' is missing"));
  CHECK_THAT(refused(set + "name = 'a'\nsteps = 0\n"), Contains("task.eval_inputs[0].steps"));
  CHECK_THAT(refused(set + "name = 'a'\nnum_samples = 2\n"), Contains("decodes none"));
  CHECK_THAT(refused(set + "name = 'a'\nprogram = 'decode'\n"),
             Contains("task.eval_inputs[0].program") && Contains("writes no texts"));
  CHECK_THAT(refused("[[task.metrics]]\ntype = 'vision/Acuracy'\n"),
             Contains("task.metrics[0]") && Contains("vision/Accuracy"));
  CHECK_THAT(refused("[[task.metrics]]\ntype = 'vision/Accuracy'\n"),
             Contains("two metrics report 'accuracy'"));
}

TEST_CASE("metrics of a config are measured in evaluations, and in training on request") {
  const test::TempDir temp;
  const fs::path file = config_with(temp,
                                    "[[task.metrics]]\ntype = 'vision/TopK'\nk = 2\n"
                                    "[[task.metrics]]\ntype = 'vision/TopK'\nk = 3\n"
                                    "name = 'three'\nin_training = true\n");
  const auto result = test::run(file, temp / "run");
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  const json evaluated = test::records(temp / "run", "eval").back().at("values");
  const double first = evaluated.at("accuracy"), second = evaluated.at("top_2_accuracy"),
               third = evaluated.at("three");
  CHECK(first <= second);
  CHECK(second <= third);
  const json trained = test::records(temp / "run", "train").back().at("values");
  CHECK(trained.contains("three"));
  CHECK_FALSE(trained.contains("top_2_accuracy"));
}

}  // namespace eval_sets_test
