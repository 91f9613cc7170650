// SPDX-License-Identifier: Apache-2.0
// Several tasks trained together, through the real program.
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include <catch2/catch.hpp>

#include "program/run/run_fixture.h"
#include "support/paths.h"
#include "support/shell.h"

namespace multitask_test {

using namespace trivet;
using Catch::Contains;
namespace fs = std::filesystem;

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

}  // namespace multitask_test
