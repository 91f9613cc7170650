// SPDX-License-Identifier: Apache-2.0
// `trivet check` and `trivet summary`.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <utility>

#include <catch2/catch.hpp>

#include "program/run/run_fixture.h"
#include "support/paths.h"

using namespace trivet::test;
using Catch::Contains;
using Catch::EndsWith;
namespace fs = std::filesystem;

namespace {

ShellResult check(const std::string& words) {
  return trivet::test::trivet("check " + words);
}

std::string local() {
  return quoted(config("vision/local.toml").string());
}

// The configs to run, without base files.
std::vector<fs::path> shipped() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(config(""))) {
    const bool base = entry.path().parent_path().filename() == "base";
    if (entry.path().extension() == ".toml" && !base) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// What a check needs of the user, by the name of a config.
class Givens {
 public:
  std::string option_of(const std::string& config_name) const {
    // Only the user has the data.
    if (config_name == "gpt2_124m" || config_name == "kjv") return " --abstract";
    return config_name == "preferences" ? " task.init_checkpoint=" + numbers() : "";
  }

 private:
  // configs/lm/preferences.toml starts from the run of another config, here of one step.
  std::string numbers() const {
    const fs::path run = dir_ / "numbers";
    const ShellResult result =
        trivet::test::run(config("lm/numbers.toml"), run, "mode=train trainer.train_steps=1");
    INFO(result.output);
    REQUIRE(result.exit_code == 0);
    return quoted(run.string());
  }

  TempDir dir_;
};

}  // namespace

TEST_CASE("every shipped config and experiment passes the check, and reads back equal", "[slow]") {
  const TempDir dir;
  const auto list = nlohmann::json::parse(trivet::test::trivet("experiments --json").output);
  CHECK(list.size() >= 3);
  const std::vector<fs::path> files = shipped();
  CHECK(files.size() >= 3);
  std::vector<std::pair<std::string, std::string>> all;  // how to name it, and its own name
  for (const fs::path& file : files) all.emplace_back(quoted(file.string()), file.stem().string());
  for (const auto& experiment : list) {
    const auto key = experiment.at("key").get<std::string>();
    all.emplace_back("--experiment " + key, key.substr(key.find('/') + 1));
  }
  const Givens givens;
  std::set<std::string> seen;
  for (const auto& [given, name] : all) {
    INFO(given);
    const std::string shown = trivet::test::trivet("config show " + given).output;
    // Most shipped files say what a registered experiment does.
    if (!seen.insert(shown).second) continue;
    const ShellResult result = check(given + givens.option_of(name));
    INFO(result.output);
    CHECK(result.exit_code == 0);
    CHECK_THAT(result.output, EndsWith("\nok\n"));
    const fs::path file = dir.write("shown.toml", shown);
    CHECK(trivet::test::trivet("config show " + quoted(file.string())).output == shown);
  }
}

TEST_CASE("a check and a summary write nothing") {
  const TempDir dir;
  for (const std::string command : {"check ", "summary "}) {
    const ShellResult result = shell("cd " + quoted(dir.path().string()) +
                                     " && TRIVET_PLUGIN_PATH=" + quoted(plugin_dir().string()) +
                                     " " + quoted(program().string()) + " " + command + local());
    INFO(result.output);
    CHECK(result.exit_code == 0);
    CHECK(fs::is_empty(dir.path()));
  }
}

TEST_CASE("a check reports the expected range of the initial loss") {
  const ShellResult fresh = check(local());
  CHECK_THAT(fresh.output, Contains("plausible between 1.15 and 4.30: ln(10) = 2.30 for 10"));
  const auto json = nlohmann::json::parse(check(local() + " --json").output);
  CHECK(json.at("ok") == true);
  CHECK(json.at("problems").empty());
  CHECK(json.at("expected_initial_loss").at("low") == Approx(std::log(10) / 2));
  CHECK(json.at("initial_loss") == Approx(std::log(10)).margin(1));
  CHECK(json.at("eval").contains("validation_loss"));
  CHECK(json.at("memory").at("step_bytes") > 0);
  // Weights, their gradients, and Adam's two slots, four bytes each.
  CHECK(json.at("memory").at("persistent_bytes") >= 17098 * 4 * 4);
}

TEST_CASE("far too large initial weights are found by the initial loss") {
  const ShellResult result =
      check(local() + " task.model.init.method=normal task.model.init.scale=3");
  INFO(result.output);
  CHECK(result.exit_code == 1);
  CHECK_THAT(result.output,
             Contains("problem: the initial loss") && Contains("is not between 1.15 and 4.30"));
}

TEST_CASE("weights that no gradient reaches are named") {
  // With zeros, the hidden layer and its products stay at zero.
  const ShellResult result =
      check(local() + " task.model.init.method=constant task.model.init.scale=0");
  INFO(result.output);
  CHECK(result.exit_code == 1);
  CHECK_THAT(result.output, Contains("problem: no gradient reaches hidden_0/w, hidden_0/b, "
                                     "output/w: training leaves them as they are"));
  CHECK_THAT(result.output, Contains("reach 1 of 4 trainable tensors"));
}

TEST_CASE("a check and a summary cover every stage of a training") {
  const std::string stages = quoted(config("vision/progressive.toml").string());
  const ShellResult text = check(stages);
  INFO(text.output);
  CHECK(text.exit_code == 0);
  CHECK_THAT(text.output, Contains("stage 1 of 3 (shallow)\n") &&
                              Contains("stage 2 of 3 (deep)\n") &&
                              Contains("stage 3 of 3 (settle)\n"));
  CHECK_THAT(trivet::test::trivet("summary " + stages).output,
             Contains("\nstage 2 of 3 (deep)\n") && Contains("hidden_1"));
  const auto json = nlohmann::json::parse(check(stages + " --json").output);
  CHECK(json.at("ok") == true);
  const auto& seen = json.at("stages");
  REQUIRE(seen.size() == 3);
  const std::vector<std::string> names = {"shallow", "deep", "settle"};
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(seen[i].at("name") == names[i]);
    CHECK(seen[i].at("stage") == i + 1);
    // 256 to 32 to 10; from the second stage on also 32 to 32.
    CHECK(seen[i].at("parameters") == 257 * 32 + 33 * 10 + (i > 0 ? 33 * 32 : 0));
    CHECK(seen[i].at("initial_loss") == Approx(std::log(10)).margin(1));
    CHECK(seen[i].at("memory").at("step_bytes") > 0);
    CHECK(seen[i].at("eval").contains("validation_loss"));
  }
  const auto summary =
      nlohmann::json::parse(trivet::test::trivet("summary --json " + stages).output);
  // The additional layer of the second stage, and its activation.
  CHECK(summary.at("stages")[0].at("layers").size() == 4);
  CHECK(summary.at("stages")[1].at("layers").size() == 6);
  const auto evaluated = nlohmann::json::parse(check(stages + " mode=eval --json").output);
  REQUIRE(evaluated.at("stages").size() == 3);
  CHECK_FALSE(evaluated.at("stages")[1].contains("initial_loss"));
}

TEST_CASE("an error in a later stage is found before training and names the stage") {
  const std::string stages = quoted(config("vision/progressive.toml").string());
  const ShellResult dead = check(stages +
                                 " trainer.stages[1].model.type=vision/Mlp"
                                 " trainer.stages[1].model.image_shape=[16,16,1]"
                                 " trainer.stages[1].model.hidden_dims=[8]"
                                 " trainer.stages[1].model.init.method=constant"
                                 " trainer.stages[1].model.init.scale=0");
  INFO(dead.output);
  CHECK(dead.exit_code == 1);
  CHECK_THAT(dead.output, Contains("problem: stage 2 of 3 (deep): no gradient reaches hidden_0/w"));
  CHECK_THAT(dead.output, !Contains("problem: stage 1"));
  const ShellResult shape = check(stages +
                                  " trainer.stages[2].model.type=vision/Mlp"
                                  " trainer.stages[2].model.image_shape=[8,8,1]"
                                  " trainer.stages[2].model.hidden_dims=[8]");
  INFO(shape.output);
  CHECK(shape.exit_code != 0);
  CHECK_THAT(shape.output, Contains("trainer.stages[2]") && Contains("[64, 16, 16, 1]"));
  const ShellResult transfer = check(stages + " trainer.stages[1].transfer.partial=false");
  INFO(transfer.output);
  CHECK(transfer.exit_code != 0);
  CHECK_THAT(transfer.output, Contains("trainer.stages[1].transfer"));
}

TEST_CASE("a check of a run that only evaluates runs no training step") {
  const auto json = nlohmann::json::parse(check(local() + " mode=eval --json").output);
  CHECK(json.at("ok") == true);
  CHECK_FALSE(json.contains("initial_loss"));
  CHECK(json.at("examples") == 128);
}

TEST_CASE("a check of a wrong config is a config error") {
  const ShellResult wrong = check(local() + " trainer.train_steps=-1");
  CHECK(wrong.exit_code == 2);
  const ShellResult nothing = check(local() + " trainer.train_steps=0");
  CHECK(nothing.exit_code == 2);
  CHECK_THAT(nothing.output, Contains("trainer.train_steps: is 0: nothing to train"));
  const ShellResult shapes = check(local() + " 'task.train_input.image_shape=[8,8,1]'");
  INFO(shapes.output);
  CHECK(shapes.exit_code != 0);
  CHECK_THAT(shapes.output, Contains("vision/Mlp") && Contains("[64, 8, 8, 1]"));
}

TEST_CASE("a summary has every layer with its shape, parameters and FLOPs") {
  const ShellResult text = trivet::test::trivet("summary " + local());
  INFO(text.output);
  CHECK(text.exit_code == 0);
  CHECK_THAT(text.output, Contains("hidden_0") && Contains("nn/Linear") &&
                              Contains("f32 [64, 64]") && Contains("16,448"));
  CHECK_THAT(text.output, Contains("vision/Mlp  17,098 parameters in 4 tensors"));

  const auto json = nlohmann::json::parse(trivet::test::trivet("summary --json " + local()).output);
  const auto& layers = json.at("layers");
  const auto hidden = std::find_if(layers.begin(), layers.end(), [](const auto& layer) {
    return layer.at("path") == "hidden_0";
  });
  REQUIRE(hidden != layers.end());
  CHECK(hidden->at("input") == "f32 [64, 256]");
  CHECK(hidden->at("parameters") == 256 * 64 + 64);
  // The product forward and the one for the weights' gradient; the input needs none.
  const double product = 2.0 * 64 * 256 * 64;
  CHECK(hidden->at("flops") >= 2 * product);
  CHECK(hidden->at("flops") < 2.02 * product);
  double parameters = 0;
  for (const auto& layer : layers) parameters += layer.at("parameters").get<double>();
  CHECK(parameters == 17098);
  // The output layer's input has a gradient as well.
  const double output = 2.0 * 64 * 64 * 10;
  CHECK(json.at("step_flops") >= 2 * product + 3 * output);
  CHECK(json.at("step_flops") < 1.1 * (2 * product + 3 * output));
}
