// SPDX-License-Identifier: Apache-2.0
// A new run that takes over step and optimizer of another, trivet ckpt convert, and checkpoints of
// the start.
#include <filesystem>
#include <string>

#include <catch2/catch.hpp>

#include "program/run/run_fixture.h"
#include "support/shell.h"

namespace continued_test {

namespace test = trivet::test;
using Catch::Contains;
using nlohmann::json;
using test::config, test::quoted, test::run, test::TempDir;
namespace fs = std::filesystem;

namespace {

// An epoch has 20 steps, in one order: step 21 has the data of step 1.
const std::string kSmall =
    "task.model.hidden_dims=[16] task.train_input.batch_size=32 task.train_input.examples=640 "
    "task.train_input.shuffle=false task.eval_input.examples=64 runtime.threads=1 "
    "trainer.validation_interval=0 trainer.checkpoint_interval=0 --mode train "
    "trainer.steps_per_loop=5 ";

std::string model_of(const fs::path& workdir, const std::string& step) {
  return test::read_file(workdir / "checkpoints" / step / "model.safetensors");
}

test::ShellResult start(const fs::path& workdir, const std::string& more) {
  return run(config("vision/local.toml"), workdir, kSmall + more);
}

test::ShellResult ckpt(const std::string& words) {
  return test::trivet("ckpt " + words);
}

}  // namespace

TEST_CASE("a new run that takes step and slots trains as the other run would") {
  const TempDir temp;
  REQUIRE(start(temp / "one", "trainer.train_steps=20").exit_code == 0);
  const std::string from = "task.init_checkpoint=" + quoted((temp / "one").string()) + " ";
  REQUIRE(start(temp / "whole", "trainer.train_steps=40").exit_code == 0);
  const auto both = start(temp / "both", from +
                                             "trainer.train_steps=40 task.init_load.load_step=true "
                                             "task.init_load.load_slots=true");
  INFO(both.output);
  REQUIRE(both.exit_code == 0);
  CHECK(model_of(temp / "both", "step_00000040") == model_of(temp / "whole", "step_00000040"));
  CHECK_THAT(both.output, Contains("8 optimizer slots from") && Contains("after 20 updates"));
  CHECK(test::records(temp / "both", "train").front().at("step") == 25);
  // The weights alone, or the step alone, are another training.
  REQUIRE(start(temp / "step", from + "trainer.train_steps=40 task.init_load.load_step=true")
              .exit_code == 0);
  CHECK(model_of(temp / "step", "step_00000040") != model_of(temp / "whole", "step_00000040"));
  REQUIRE(start(temp / "slots", from + "trainer.train_steps=20 task.init_load.load_slots=true")
              .exit_code == 0);
  CHECK(model_of(temp / "slots", "step_00000020") != model_of(temp / "one", "step_00000020"));
}

TEST_CASE("what a source does not have is refused before the first step") {
  const TempDir temp;
  REQUIRE(start(temp / "one", "trainer.train_steps=5").exit_code == 0);
  REQUIRE(
      ckpt("convert " + quoted((temp / "bare").string()) + " " + quoted((temp / "one").string()))
          .exit_code == 0);
  const auto refused = [&](const std::string& more) {
    const auto result = start(temp / "new", "trainer.train_steps=10 " + more);
    CHECK(result.exit_code == 2);
    CHECK_FALSE(fs::exists(temp / "new" / "checkpoints"));
    fs::remove_all(temp / "new");
    return result.output;
  };
  const std::string bare = "task.init_checkpoint=" + quoted((temp / "bare").string()) + " ";
  CHECK_THAT(refused(bare + "task.init_load.load_slots=true"),
             Contains("task.init_load.load_slots") && Contains("how many updates were made"));
  CHECK_THAT(refused("task.init_load.load_step=true"),
             Contains("task.init_load") && Contains("without task.init_checkpoint"));
  const std::string from = "task.init_checkpoint=" + quoted((temp / "one").string()) + " ";
  CHECK_THAT(refused(from + "task.init_load.load_slots=true trainer.optimizer.type=optim/Lion"),
             Contains("the optimizer cannot start from") &&
                 Contains("hidden_0/w/v f32 [256, 16]: this optimizer has no such slot"));
  CHECK_THAT(refused(from + "task.init_load.step=4"), Contains("no checkpoint of step 4"));
}

TEST_CASE("trivet ckpt convert renames, leaves out, and changes the type of weights") {
  const TempDir temp;
  REQUIRE(start(temp / "one", "trainer.train_steps=5").exit_code == 0);
  const std::string source = " " + quoted((temp / "one").string()) + " ";
  const auto to = [&](const std::string& name) {
    return "convert " + quoted((temp / name).string());
  };
  const auto made =
      ckpt(to("small") + source +
           "--dtype bf16 --rename 'hidden_0/(.*)=encoder/$1' --drop 'output/.*' --json");
  INFO(made.output);
  REQUIRE(made.exit_code == 0);
  const json report = json::parse(made.output);
  CHECK(report.at("tensors") == 2);
  CHECK(report.at("renamed") == 2);
  CHECK(report.at("dropped") == 2);
  CHECK(report.at("rounded") > 1000);
  CHECK(report.at("step") == 5);
  const json info =
      json::parse(ckpt("info " + quoted((temp / "small").string()) + " --json").output);
  CHECK(info.at("tensors").at(0).at("name") == "encoder/w");
  CHECK(info.at("tensors").at(1).at("dtype") == "bf16");
  CHECK(ckpt("verify " + quoted((temp / "small").string())).exit_code == 0);

  // A run starts from it, by the rule the other way round.
  const auto started =
      start(temp / "new",
            "trainer.train_steps=1 task.init_checkpoint=" + quoted((temp / "small").string()) +
                " 'task.init_load.rules=[{pattern=\"hidden_0/(.*)\",name=\"encoder/$1\"}]' "
                "'task.init_load.ignore=[\"output/.*\"]'");
  INFO(started.output);
  CHECK(started.exit_code == 0);

  const auto refused = [&](const std::string& words, int code) {
    const auto result = ckpt(words);
    CHECK(result.exit_code == code);
    CHECK_FALSE(fs::exists(temp / "bad"));
    return result.output;
  };
  CHECK_THAT(refused(to("bad") + source + "--drop output", 2),
             Contains("--drop 'output' matches no tensor"));
  CHECK_THAT(refused(to("bad") + source + "--rename '(=x'", 2),
             Contains("'(' is not a regular expression"));
  CHECK_THAT(refused(to("bad") + source + "--rename '.*/w=w'", 1),
             Contains("two tensors would have the name 'w'"));
  CHECK_THAT(refused(to("bad") + source + "--dtype f64", 2), Contains("--dtype takes f32"));
  CHECK_THAT(refused(to("bad") + source + "--averages", 1), Contains("has no moving averages"));
  CHECK_THAT(refused(to("bad") + source + "--drop '.*'", 1), Contains("leaves no tensor"));
  CHECK_THAT(refused("ls" + source + "--dtype bf16", 2),
             Contains("--dtype is an option of 'trivet ckpt convert'"));
  CHECK_THAT(ckpt(to("small") + source).output, Contains("already exists"));
}

TEST_CASE("a checkpoint of the start is saved where it is wanted") {
  const TempDir temp;
  REQUIRE(start(temp / "run", "trainer.train_steps=5 trainer.checkpoint_at_start=true").exit_code ==
          0);
  CHECK(fs::exists(temp / "run/checkpoints/step_00000000/model.safetensors"));
  REQUIRE(start(temp / "plain", "trainer.train_steps=5").exit_code == 0);
  CHECK_FALSE(fs::exists(temp / "plain/checkpoints/step_00000000"));
  CHECK(model_of(temp / "run", "step_00000005") == model_of(temp / "plain", "step_00000005"));
}

}  // namespace continued_test
