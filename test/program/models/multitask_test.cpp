// SPDX-License-Identifier: Apache-2.0
// Several tasks trained together, through the real program.
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "program/run/run_fixture.h"
#include "support/paths.h"
#include "support/shell.h"

namespace multitask_test {

using namespace trivet;
using Catch::Contains;
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

const std::string kShort = "trainer.checkpoint_interval=20 trainer.steps_per_loop=7 ";

test::ShellResult run(const fs::path& workdir, const std::string& more) {
  return test::run(test::config("vision/multitask.toml"), workdir, kShort + more);
}

// The shipped config with joint training.
fs::path joint_config(const test::TempDir& temp) {
  std::string text = test::read_file(test::config("vision/multitask.toml"));
  for (const auto& [from, to] : {std::pair{"\"multitask/Interleaved\"", "\"multitask/Joint\""},
                                 std::pair{"\nsampler = { method = \"proportional\" }", ""}}) {
    const std::size_t at = text.find(from, text.find("[task]"));
    REQUIRE(at != std::string::npos);
    text.replace(at, std::string_view(from).size(), to);
  }
  return temp.write("joint.toml", text);
}

std::string checkpoint(const fs::path& workdir, const std::string& file) {
  return test::read_file(workdir / "checkpoints/step_00000060" / file);
}

// Sets beside the tasks' eval_input: two of the first task, one of the second.
const std::string kData =
    "input={type=\"data/Synthetic\",image_shape=[16,16,1],num_classes=10,examples=1024,"
    "batch_size=128,seed=";
const std::string kSets =
    "'task.tasks[0].task.eval_inputs=[{name=\"test\",interval=20,outputs=true," + kData +
    "1}},{name=\"unlabeled\",program=\"infer\",interval=0," + kData +
    "1}}]' 'task.tasks[1].task.eval_inputs=[{name=\"test\",steps=3," + kData +
    "2}}]' trainer.train_steps=60 trainer.validation_interval=30 ";

// The evaluations of a metrics.jsonl without what differs from one run to the next.
std::vector<std::pair<int, json>> evaluations(const fs::path& workdir) {
  std::vector<std::pair<int, json>> all;
  for (const json& record : test::records(workdir, "eval")) {
    all.emplace_back(record.at("step").get<int>(), record.at("values"));
  }
  return all;
}

std::set<std::string> names_with(const json& values, const std::string& end) {
  std::set<std::string> names;
  for (const auto& [name, value] : values.items()) {
    if (name.ends_with(end)) names.insert(name.substr(0, name.size() - end.size()));
  }
  return names;
}

}  // namespace

TEST_CASE("the multitask config learns both tasks and reports each") {
  const test::TempDir temp;
  const auto result = test::run(test::config("vision/multitask.toml"), temp / "run", "");
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  const auto eval = test::records(temp / "run", "eval").back().at("values");
  CHECK(eval.at("first/accuracy") > 0.95);
  CHECK(eval.at("second/accuracy") > 0.95);
  const double sum = 2 * eval.at("first/validation_loss").get<double>() +
                     eval.at("second/validation_loss").get<double>();
  CHECK(eval.at("validation_loss").get<double>() == Approx(sum / 3));
  for (const char* name : {"first", "second"}) {
    CHECK(fs::exists(temp / "run" / name / "confusion_matrix.csv"));
  }
  const auto train = test::records(temp / "run", "train").back().at("values");
  CHECK(train.contains("first/training_loss"));
  CHECK(train.contains("second/accuracy"));
}

TEST_CASE("joint training with accumulated gradients gives the losses of whole batches") {
  const test::TempDir temp;
  const fs::path config = joint_config(temp);
  const auto losses = [&](const char* name, const std::string& more) {
    const auto result = test::run(config, temp / name, kShort + "trainer.train_steps=21 " + more);
    INFO(result.output);
    REQUIRE(result.exit_code == 0);
    return test::records(temp / name, "train").back().at("values");
  };
  const auto whole = losses("whole", "");
  const auto cut = losses("cut", "trainer.gradient_accumulation=4");
  for (const char* name : {"training_loss", "first/training_loss", "second/training_loss"}) {
    INFO(name);
    // Sums in another order, in f32, and three times seven updates of Adam on them.
    CHECK(cut.at(name).get<double>() == Approx(whole.at(name).get<double>()).epsilon(1e-3));
  }
}

TEST_CASE("tasks trained together continue exactly after a stop") {
  const test::TempDir temp;
  const bool joint = GENERATE(false, true);
  const fs::path config = joint ? joint_config(temp) : test::config("vision/multitask.toml");
  const std::string own =
      joint ? "trainer.gradient_accumulation=2 "
            : "task.tasks[1].task.model.type=vision/Mlp "
              "task.tasks[1].task.model.image_shape=[16,16,1] "
              "task.tasks[1].task.model.hidden_dims=[16] trainer.optimizer=optim/AdamW ";
  const auto train = [&](const char* name, const std::string& steps) {
    const auto result =
        test::run(config, temp / name, kShort + own + "trainer.train_steps=" + steps);
    INFO(result.output);
    REQUIRE(result.exit_code == 0);
  };
  train("straight", "60");
  train("stopped", "33");
  train("stopped", "60");
  for (const char* file : {"model.safetensors", "optimizer.safetensors"}) {
    CHECK(checkpoint(temp / "stopped", file) == checkpoint(temp / "straight", file));
  }
}

TEST_CASE("each task evaluates its own sets, at their steps and into its own folder", "[slow]") {
  const test::TempDir temp;
  const bool joint = GENERATE(false, true);
  const fs::path config = joint ? joint_config(temp) : test::config("vision/multitask.toml");
  const auto result = test::run(config, temp / "run",
                                kShort + kSets +
                                    "trainer.best_checkpoint.metric=first/test/accuracy "
                                    "trainer.best_checkpoint.goal=max");
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  const auto records = evaluations(temp / "run");
  using Names = std::set<std::string>;
  const std::vector<std::pair<int, Names>> due = {
      {20, {"first/test"}},
      {30, {"first", "second", "second/test"}},
      {40, {"first/test"}},
      {60, {"first", "first/test", "second", "second/test"}}};
  REQUIRE(records.size() == due.size());
  for (std::size_t i = 0; i < due.size(); ++i) {
    CHECK(records[i].first == due[i].first);
    CHECK(names_with(records[i].second, "/accuracy") == due[i].second);
  }
  const json& last = records.back().second;
  CHECK(last.at("first/test/accuracy") == last.at("first/accuracy"));
  CHECK(last.at("first/test/validation_loss") == last.at("first/validation_loss"));
  CHECK(last.at("first/unlabeled/examples") == 1024);
  CHECK(last.at("second/test/validation_loss") != last.at("second/validation_loss"));
  CHECK_FALSE(last.contains("first/test/first/accuracy"));
  CHECK(test::json_of(temp / "run/best/best.json").at("metric") == "first/test/accuracy");

  const fs::path first = temp / "run/first";
  CHECK(test::read_file(first / "eval_inputs/test/confusion_matrix.csv") ==
        test::read_file(first / "confusion_matrix.csv"));
  CHECK(test::read_file(first / "eval_inputs/test/outputs_step_60.jsonl") ==
        test::read_file(first / "eval_inputs/unlabeled/outputs_step_60.jsonl"));
  CHECK(fs::exists(first / "eval_inputs/test/outputs_step_20.jsonl"));
  CHECK_FALSE(fs::exists(temp / "run/eval_inputs"));

  // The modes that evaluate a trained run once see the same sets.
  const auto once = test::run(config, temp / "run", kShort + kSets + "--mode eval");
  INFO(once.output);
  REQUIRE(once.exit_code == 0);
  const json again = evaluations(temp / "run/evals/1").back().second;
  for (const char* name : {"first/test/accuracy", "second/test/validation_loss"}) {
    CHECK(again.at(name) == last.at(name));
  }
  const auto inferred = test::run(config, temp / "run", kShort + kSets + "--mode infer");
  INFO(inferred.output);
  REQUIRE(inferred.exit_code == 0);
  CHECK(test::read_file(temp / "run/evals/2/first/eval_inputs/unlabeled/outputs_step_60.jsonl") ==
        test::read_file(first / "eval_inputs/unlabeled/outputs_step_60.jsonl"));
  const auto followed =
      test::run(config, temp / "run",
                kShort + kSets + "--mode continuous_eval trainer.continuous_eval_timeout=0.3");
  INFO(followed.output);
  REQUIRE(followed.exit_code == 0);
  CHECK(evaluations(temp / "run/continuous_eval").back().second.at("first/test/accuracy") ==
        last.at("first/test/accuracy"));
}

TEST_CASE("sets of several tasks resume exactly where their data was") {
  const test::TempDir temp;
  // The checkpoint of step 33 has the positions before the evaluation at the end of that process.
  const std::string more = kSets +
                           "trainer.validation_data=continue trainer.validation_interval=20 "
                           "trainer.validation_steps=5 "
                           "task.tasks[0].task.eval_inputs[0].steps=3 trainer.train_steps=";
  const auto whole = run(temp / "straight", more + "60");
  INFO(whole.output);
  REQUIRE(whole.exit_code == 0);
  REQUIRE(run(temp / "plain", "trainer.train_steps=60").exit_code == 0);
  REQUIRE(run(temp / "stopped", more + "33").exit_code == 0);
  const auto result = run(temp / "stopped", more + "60");
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  const auto straight = evaluations(temp / "straight"), stopped = evaluations(temp / "stopped");
  REQUIRE(straight.size() == 3);
  REQUIRE(stopped.size() == 4);
  CHECK(stopped[0] == straight[0]);
  CHECK(stopped[2] == straight[1]);
  CHECK(stopped[3] == straight[2]);
  CHECK(checkpoint(temp / "stopped", "model.safetensors") ==
        checkpoint(temp / "straight", "model.safetensors"));
  CHECK(checkpoint(temp / "plain", "model.safetensors") ==
        checkpoint(temp / "straight", "model.safetensors"));
}

TEST_CASE("a task with sets alone is left out of the evaluation of all tasks") {
  const test::TempDir temp;
  const std::string alone = kShort + kSets + "task.tasks[0].task.eval_input=none ";
  const auto one = test::run(test::config("vision/multitask.toml"), temp / "one", alone);
  INFO(one.output);
  REQUIRE(one.exit_code == 0);
  const json values = evaluations(temp / "one").back().second;
  CHECK(names_with(values, "/accuracy") ==
        std::set<std::string>{"first/test", "second", "second/test"});
  CHECK(values.at("validation_loss").get<double>() ==
        Approx(values.at("second/validation_loss").get<double>()));
  const auto none = test::run(test::config("vision/multitask.toml"), temp / "none",
                              alone + "task.tasks[1].task.eval_input=none");
  INFO(none.output);
  REQUIRE(none.exit_code == 0);
  CHECK(names_with(evaluations(temp / "none").back().second, "validation_loss") ==
        std::set<std::string>{"first/test/", "second/test/"});
}

TEST_CASE("names of metrics and programs of the tasks' sets are checked before the run") {
  const test::TempDir temp;
  const auto refused = [&](const std::string& more) {
    const auto result = run(temp / "run", kSets + more);
    INFO(result.output);
    CHECK(result.exit_code == 2);
    CHECK_FALSE(fs::exists(temp / "run"));
    return result.output;
  };
  CHECK_THAT(refused("trainer.best_checkpoint.metric=first/test/acuracy"),
             Contains("trainer.best_checkpoint.metric") && Contains("first/test/accuracy"));
  CHECK_THAT(refused("task.tasks[1].task.eval_inputs[0].program=decode"),
             Contains("task.tasks[1].task.eval_inputs[0].program") && Contains("writes no texts"));
  CHECK_THAT(refused("task.tasks[0].task.eval_inputs[1].name=test"),
             Contains("task.tasks[0].task.eval_inputs[1].name") && Contains("eval_inputs[0]"));
  CHECK_THAT(refused("task.tasks[0].task.eval_inputs[1].steps=0"),
             Contains("task.tasks[0].task.eval_inputs[1].steps"));
  CHECK_THAT(refused("'task.eval_inputs=[{name=\"test\"," + kData + "1}}]'"),
             Contains("task.eval_inputs") && Contains("each of the tasks has its own"));
  CHECK_THAT(refused("--mode decode"),
             Contains("task.tasks[0].task.eval_inputs") && Contains("has no data"));
}

TEST_CASE("the data of a task may change between two processes of a run, but not its model") {
  const test::TempDir temp;
  REQUIRE(run(temp / "run", "trainer.train_steps=20").exit_code == 0);
  const auto other = run(temp / "run", "trainer.train_steps=40 task.tasks[0].eval_steps=2");
  INFO(other.output);
  CHECK(other.exit_code == 0);
  CHECK_THAT(other.output, Contains("task.tasks[0].eval_steps: -1 -> 2"));
  const auto refused = run(temp / "run", "trainer.train_steps=60 task.tasks[1].name=third");
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.output, Contains("task.tasks[1].name") && Contains("\"third\""));
}

// Batches of the second task are too few for all shards, so the first process alone finds that the
// logs of another shard cannot be merged.
TEST_CASE("an evaluation that fails in the first process alone ends the run with its text",
          "[slow]") {
  const test::TempDir temp;
  const std::string first = "task.tasks[0].task.", second = "task.tasks[1].task.";
  const auto result =
      run(temp / "run",
          "--processes 2 trainer.train_steps=2 trainer.validation_interval=2 "
          "mesh.ici_mesh_shape=[1,4,1] runtime.threads=1 '" +
              first + "train_input.batch_size=16' '" + second + "train_input.batch_size=16' '" +
              first + "eval_input.examples=100' '" + first + "eval_input.batch_size=3' '" + second +
              "eval_input.examples=5' '" + second + "eval_input.batch_size=3'");
  INFO(result.output);
  CHECK(result.exit_code == 1);
  CHECK_THAT(result.output,
             Contains("cannot be merged into one without batches") && !Contains("crashed"));
  CHECK_THAT(result.output, Contains("task.tasks[1]") &&
                                Contains("set the batch_size of its eval_input to a multiple of "
                                         "the shards, or remove [mesh]"));
}

}  // namespace multitask_test
