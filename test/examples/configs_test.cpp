// SPDX-License-Identifier: Apache-2.0
// Every shipped config resolves without errors, and the small one runs.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "support/paths.h"
#include "support/shell.h"

using namespace trivet::test;
namespace fs = std::filesystem;

namespace {

std::vector<fs::path> configs() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(source_root() / "configs")) {
    if (entry.path().extension() == ".toml") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string program_with(const std::string& words) {
  return "TRIVET_PLUGIN_PATH=" + quoted(plugin_dir().string()) + " HOME=/nonexistent " +
         quoted(program().string()) + " " + words;
}

}  // namespace

TEST_CASE("every config resolves, and the shown config resolves to the same", "[slow]") {
  const auto files = configs();
  CHECK(files.size() >= 4);
  const TempDir dir;
  for (const fs::path& file : files) {
    INFO(file.string());
    const ShellResult shown = shell(program_with("config show " + quoted(file.string())));
    INFO(shown.output);
    REQUIRE(shown.exit_code == 0);
    const fs::path resolved = dir.write("resolved.toml", shown.output);
    const ShellResult again = shell(program_with("config show " + quoted(resolved.string())));
    CHECK(again.exit_code == 0);
    CHECK(again.output == shown.output);
  }
}

TEST_CASE("the local config learns to classify its images") {
  const TempDir dir;
  const fs::path workdir = dir.path() / "run";
  const ShellResult run =
      shell(program_with("run " + quoted((source_root() / "configs/vision/local.toml").string()) +
                         " --workdir " + quoted(workdir.string())));
  INFO(run.output);
  REQUIRE(run.exit_code == 0);
  // The CSV's diagonal: the number of correct test images of 1024.
  std::istringstream csv(read_file(workdir / "confusion_matrix.csv"));
  std::string line, cell;
  std::getline(csv, line);
  double right = 0, all = 0;
  for (int label = 0; std::getline(csv, line); ++label) {
    std::istringstream cells(line);
    std::getline(cells, cell, ',');
    for (int predicted = 0; std::getline(cells, cell, ','); ++predicted) {
      all += std::stod(cell);
      if (predicted == label) right += std::stod(cell);
    }
  }
  CHECK(all == 1024);
  CHECK(right / all > 0.95);
}

namespace {

// Metrics of the last evaluation of a config as it is shipped.
nlohmann::json evaluation_of(const std::string& config) {
  const TempDir dir;
  const ShellResult run =
      shell(program_with("run " + quoted((source_root() / "configs" / config).string()) +
                         " --workdir " + quoted((dir / "run").string())));
  INFO(run.output);
  REQUIRE(run.exit_code == 0);
  return nlohmann::json::parse(read_file(dir / "run/summary.json")).at("eval");
}

}  // namespace

TEST_CASE("the small configs for images reach what their comments say", "[slow]") {
  CHECK(evaluation_of("vision/rand_augment.toml").at("accuracy") > 0.95);
  CHECK(evaluation_of("vision/records.toml").at("accuracy") > 0.955);
  CHECK(evaluation_of("vision/mobilenet.toml").at("accuracy") > 0.95);
  CHECK(evaluation_of("vision/resnet_rs.toml").at("accuracy") > 0.95);
  CHECK(evaluation_of("vision/revnet.toml").at("accuracy") > 0.95);
  CHECK(evaluation_of("vision/vanillanet.toml").at("accuracy") > 0.95);
}

TEST_CASE("the small configs for texts reach what their comments say", "[slow]") {
  CHECK(evaluation_of("lm/answers.toml").at("exact_match") > 93.5);
  CHECK(evaluation_of("lm/pairs.toml").at("left_recall_at_1") > 0.955);
  const auto electra = evaluation_of("lm/electra.toml");
  CHECK(electra.at("discriminator_accuracy") > 0.955);
  // It knows more than that most tokens are right.
  CHECK(electra.at("discriminator_accuracy").get<double>() >
        1 - electra.at("replaced_tokens").get<double>() + 0.01);
}

TEST_CASE("the configs of MLPerf's batch sizes have the numbers of Pax") {
  // Pax: warm-up ceil(265 * 1536 / B), end ceil(108600 * 1536 / B), evaluations of 24 * 1024
  // examples every `interval` steps, checkpoints half as often.
  struct Variant {
    int batch, interval;
    const char* rate;
  };
  for (const auto& [batch, interval, rate] : {Variant{1536, 16, "2e-05"},
                                              {2048, 12, "2e-05"},
                                              {3072, 8, "2e-05"},
                                              {4096, 6, "3e-05"},
                                              {8192, 3, "3e-05"}}) {
    const std::string name = "lm/c4_gpt3_175b_mlperf_" + std::to_string(batch) + ".toml";
    INFO(name);
    const ShellResult shown =
        shell(program_with("config show " + quoted((source_root() / "configs" / name).string())));
    REQUIRE(shown.exit_code == 0);
    const auto has = [&](const std::string& field, const std::string& value) {
      INFO(field << " = " << value);
      CHECK(shown.output.find("\n" + field + " = " + value + "\n") != std::string::npos);
    };
    const auto scaled = [batch = batch](int steps) {
      return static_cast<int>(std::ceil(steps * 1536.0 / batch - 1e-6));
    };
    const int warmup = scaled(265), end = scaled(108600);
    has("train_steps", std::to_string(end));
    has("steps", std::to_string(warmup));
    has("offset", std::to_string(warmup + 1));
    has("decay_steps", std::to_string(end - warmup - 1));
    has("initial_value", rate);
    has("validation_interval", std::to_string(interval));
    has("validation_steps", std::to_string(24 * 1024 / batch));
    has("checkpoint_interval", std::to_string(2 * interval));
    has("target", "2.69");
    has("processes", std::to_string(batch / 8));  // of four chips with two examples each
  }
}
