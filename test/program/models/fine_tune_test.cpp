// SPDX-License-Identifier: Apache-2.0
// A convolutional network for ten classes is fine-tuned for two, by rules on the command line.
#include <filesystem>
#include <map>
#include <sstream>
#include <string>

#include <catch2/catch.hpp>

#include "program/run/run_fixture.h"
#include "safetensors_reader.h"

namespace {

namespace fs = std::filesystem;
using Catch::Contains;
using trivet::test::config;
using trivet::test::json_of;
using trivet::test::quoted;
using trivet::test::read_safetensors;
using trivet::test::ShellResult;
using trivet::test::TempDir;

// Ten classes of synthetic images; the second run uses the first two.
fs::path cnn_config(const TempDir& dir) {
  return dir.write("cnn.toml", "base = [\"" + config("vision/local.toml").string() +
                                   "\"]\n"
                                   "[task.model]\n"
                                   "type = \"vision/Cnn\"\n"
                                   "image_shape = [16, 16, 1]\n"
                                   "channels = [8, 8, 8]\n"
                                   "hidden_dims = 16\n");
}

const std::string kFew =
    "runtime.threads=1 trainer.steps_per_loop=20 task.train_input.batch_size=32 "
    "task.train_input.examples=512 task.eval_input.examples=128 ";
const std::string kTwoClasses =
    "trainer.train_steps=60 task.num_classes=2 task.top_k=1 task.model.num_classes=2 "
    "task.train_input.num_classes=2 task.eval_input.num_classes=2 ";

ShellResult start(const fs::path& file, const fs::path& workdir, const std::string& more) {
  return trivet::test::run(file, workdir, kFew + more);
}

auto weights(const fs::path& workdir, const std::string& step) {
  return read_safetensors(workdir / "checkpoints" / step / "model.safetensors");
}

// The entry of each variable in log.jsonl: "status source".
std::map<std::string, std::string> reported(const fs::path& workdir) {
  std::map<std::string, std::string> found;
  std::istringstream lines(trivet::test::read_file(workdir / "log.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    const auto event = nlohmann::json::parse(line);
    if (!event.contains("variables")) continue;
    for (const auto& entry : event.at("variables")) {
      found[entry.at("variable")] =
          entry.at("status").get<std::string>() + " " + entry.value("source", std::string());
    }
  }
  return found;
}

}  // namespace

TEST_CASE("a Cnn for ten classes is fine-tuned for two by rules, and every variable is reported",
          "[slow]") {
  const TempDir dir;
  const fs::path file = cnn_config(dir), ten = dir / "ten";
  const ShellResult first = start(file, ten, "trainer.train_steps=100 --mode train");
  INFO(first.output);
  REQUIRE(first.exit_code == 0);
  const std::string from = kTwoClasses + "task.init_checkpoint=" + quoted(ten.string()) + " ";

  SECTION("without rules the classifier does not fit, and nothing is trained") {
    const ShellResult refused = start(file, dir / "refused", from);
    CHECK(refused.exit_code == 2);
    CHECK_THAT(refused.output, Contains("differs  output/w [16, 2]; f32 [16, 2] wanted, f32 "
                                        "[16, 10] found") &&
                                   Contains("loaded  conv_0/w [3, 3, 1, 8]") &&
                                   Contains("loaded  hidden/b [16]"));
    CHECK_FALSE(fs::exists(dir / "refused" / "checkpoints"));
  }
  SECTION("the classifier ignored and the rest frozen, only the classifier learns") {
    const ShellResult tuned = start(file, dir / "two",
                                    from +
                                        "'task.init_load.ignore=[\"output/.*\"]' "
                                        "'trainer.frozen=[\"conv_.*\", \"hidden/.*\"]'");
    INFO(tuned.output);
    REQUIRE(tuned.exit_code == 0);
    CHECK_THAT(tuned.output, Contains("8 of 10 variables from") && Contains("ignored output/w") &&
                                 Contains("ignored output/b"));
    CHECK(reported(dir / "two") ==
          std::map<std::string, std::string>{{"conv_0/w", "loaded conv_0/w"},
                                             {"conv_0/b", "loaded conv_0/b"},
                                             {"conv_1/w", "loaded conv_1/w"},
                                             {"conv_1/b", "loaded conv_1/b"},
                                             {"conv_2/w", "loaded conv_2/w"},
                                             {"conv_2/b", "loaded conv_2/b"},
                                             {"hidden/w", "loaded hidden/w"},
                                             {"hidden/b", "loaded hidden/b"},
                                             {"output/w", "ignored "},
                                             {"output/b", "ignored "}});
    const auto before = weights(ten, "step_00000100"),
               after = weights(dir / "two", "step_00000060");
    for (const char* name : {"conv_0/w", "conv_1/b", "conv_2/w", "hidden/w", "hidden/b"}) {
      INFO(name);
      CHECK(after.at(name).values == before.at(name).values);
    }
    CHECK(after.at("output/w").shape == std::vector<std::int64_t>{16, 2});
    // Weights trained on ten classes distinguish two of them.
    CHECK(json_of(dir / "two" / "summary.json").at("eval").at("accuracy") > 0.9);
  }
  SECTION("rules give names of the checkpoint, the first that matches counts") {
    // The second and third convolution are swapped; both are 3 x 3 from 8 to 8.
    const ShellResult tuned =
        start(file, dir / "swapped",
              from +
                  "trainer.learning_rate=0 'task.init_load.ignore=[\"output/.*\"]' "
                  "'task.init_load.rules=[{pattern=\"conv_1/(.*)\", name=\"conv_2/$1\"}, "
                  "{pattern=\"conv_2/(.)\", name=\"conv_1/$1\"}]'");
    INFO(tuned.output);
    REQUIRE(tuned.exit_code == 0);
    const auto report = reported(dir / "swapped");
    CHECK(report.at("conv_1/w") == "loaded conv_2/w");
    CHECK(report.at("conv_2/b") == "loaded conv_1/b");
    CHECK(report.at("conv_0/w") == "loaded conv_0/w");
    const auto before = weights(ten, "step_00000100"),
               after = weights(dir / "swapped", "step_00000060");
    CHECK(after.at("conv_1/w").values == before.at("conv_2/w").values);
    CHECK(after.at("conv_2/w").values == before.at("conv_1/w").values);
    CHECK(after.at("conv_0/w").values == before.at("conv_0/w").values);
  }
}
