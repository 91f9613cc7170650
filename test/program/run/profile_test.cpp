// SPDX-License-Identifier: Apache-2.0
// trivet run --profile: the files of a run, which trains to the same bytes, and what is refused.
#include <algorithm>
#include <filesystem>
#include <map>
#include <string>

#include <catch2/catch.hpp>

#include "run_fixture.h"

namespace program_profile_test {

namespace test = trivet::test;
using Catch::Contains;
using nlohmann::json;
using test::config, test::kSmallRun, test::quoted, test::TempDir;
namespace fs = std::filesystem;

namespace {

const std::string kSmall = std::string(kSmallRun) + "trainer.train_steps=20 --mode train ";

test::ShellResult start(const fs::path& workdir, const std::string& more) {
  return test::run(config("vision/local.toml"), workdir, kSmall + more);
}

std::string model_of(const fs::path& workdir) {
  return test::read_file(workdir / "checkpoints/step_00000020/model.safetensors");
}

}  // namespace

TEST_CASE("a profile has each kernel of its steps within the step, and changes no byte") {
  const TempDir temp;
  REQUIRE(start(temp / "plain", "").exit_code == 0);
  const auto run = start(temp / "run", "--profile steps=10..13");
  INFO(run.output);
  REQUIRE(run.exit_code == 0);
  CHECK(model_of(temp / "run") == model_of(temp / "plain"));
  CHECK_THAT(run.output, Contains("profile of steps 10 to 13") && Contains("hidden_0") &&
                             Contains("linear_bwd") && Contains("wait for batch"));
  const std::string text = test::read_file(temp / "run/profile/steps_10_13.txt");
  CHECK_THAT(text, Contains("profile of steps 10 to 13"));

  const json trace = json::parse(test::read_file(temp / "run/profile/steps_10_13.json"));
  std::map<std::string, int> names;
  double steps_end = 0, kernels_end = 0, in_kernels = 0;
  for (const json& event : trace.at("traceEvents")) {
    if (event.at("ph") != "X") continue;
    const double begin = event.at("ts"), length = event.at("dur");
    ++names[event.at("name")];
    if (event.at("tid") == 0) steps_end = std::max(steps_end, begin + length);
    if (!event.at("args").contains("layer")) continue;
    CHECK(begin >= 0);
    in_kernels += length;
    kernels_end = std::max(kernels_end, begin + length);
  }
  CHECK(names.contains("step 10"));
  CHECK(names.contains("step 13"));
  CHECK_FALSE(names.contains("step 14"));
  CHECK(names.at("linear_fwd") == 8);  // two layers, four steps
  CHECK(names.at("linear_bwd") == 8);
  CHECK(names.at("optim") == 4);
  CHECK(names.at("forward") == 4);
  CHECK(kernels_end <= steps_end);
  CHECK(in_kernels < steps_end);
}

TEST_CASE("a profile starts with the step that a run continues from, and ends with the run") {
  const TempDir temp;
  REQUIRE(start(temp / "run", "trainer.train_steps=10").exit_code == 0);
  const auto more = start(temp / "run", "--profile steps=5..500");
  INFO(more.output);
  REQUIRE(more.exit_code == 0);
  CHECK(fs::exists(temp / "run/profile/steps_11_20.json"));
  const auto first = start(temp / "first", "--profile steps=1");
  REQUIRE(first.exit_code == 0);
  CHECK(fs::exists(temp / "first/profile/steps_1_1.txt"));
}

TEST_CASE("steps that are not trained are reported, as are folders that cannot be written") {
  const TempDir temp;
  const auto late = start(temp / "late", "--profile steps=21..30");
  CHECK(late.exit_code == 0);
  CHECK_THAT(late.output, Contains("--profile: no step of 21 to 30 was trained"));
  CHECK_FALSE(fs::exists(temp / "late/profile"));
  REQUIRE(start(temp / "run", "trainer.train_steps=5").exit_code == 0);
  temp.write("run/profile", "a file");
  const auto blocked = start(temp / "run", "--profile steps=10..12");
  INFO(blocked.output);
  CHECK(blocked.exit_code == 0);
  CHECK_THAT(blocked.output, Contains("the profile is not written"));
  CHECK(test::read_file(temp / "run/profile") == "a file");
}

TEST_CASE("a profile of no steps, of too many, or of an evaluation is refused") {
  const TempDir temp;
  for (const auto& [words, what] :
       {std::pair{"--profile steps=13..10", "not 'steps=13..10'"},
        std::pair{"--profile 10..13", "--profile steps=10..13"},
        std::pair{"--profile steps=0..3", "takes the steps to look at"},
        std::pair{"--profile steps=1..99999999999999999999", "takes the steps to look at"},
        std::pair{"--profile steps=", "takes the steps to look at"},
        std::pair{"--profile steps=1..1001", "at most 1000 steps"},
        std::pair{"--profile steps=1..2 mode=eval", "requires a mode that trains"}}) {
    CAPTURE(words);
    const auto refused =
        test::run(config("vision/local.toml"), temp / "none", kSmallRun + std::string(words));
    CHECK(refused.exit_code == 2);
    CHECK_THAT(refused.output, Contains(what));
    CHECK_FALSE(fs::exists(temp / "none"));
  }
}

}  // namespace program_profile_test
