// SPDX-License-Identifier: Apache-2.0
// The config files in the README, unchanged.
#include <filesystem>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "program/launch/launched_experiments.h"
#include "program/launch/launching.h"
#include "support/paths.h"

namespace readme_test {

using namespace trivet::test;
using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

namespace {

// The block of TOML that contains `words`.
std::string toml_with(const std::string& words) {
  const std::string readme = read_file(source_root() / "README.md"), fence = "```toml\n";
  const std::size_t at = readme.find(words);
  REQUIRE(at != std::string::npos);
  const std::size_t begin = readme.rfind(fence, at) + fence.size();
  return readme.substr(begin, readme.find("```", begin) - begin);
}

}  // namespace

TEST_CASE("README: own programs are swept as written") {
  const Launching at;
  // Its programs are relative to the launch directory.
  const std::string text = std::regex_replace(toml_with("jobs.report"), std::regex("\"\\./"),
                                              "\"" + at.folder.path().string() + "/");
  at.write("xp.toml", text);
  for (const char* program : {"train.py", "report.sh"}) {
    fs::permissions(at.write(program, "#!/bin/sh\n"), fs::perms::owner_all);
  }
  const Json plan = at.plan("--xp=" + quoted((at.folder / "xp.toml").string()) +
                            " --xp.root_dir=" + quoted(at.root()) + " ");
  REQUIRE(plan.at("units").size() == 2);
  for (int unit = 0; unit < 2; ++unit) {
    const Json jobs = plan.at("units").at(unit).at("jobs");
    CHECK(jobs.size() == 2);
    const std::string wu_dir = plan.at("units").at(unit).at("wu_dir");
    const std::string size = unit == 0 ? "32" : "64";
    CHECK(fs::path(wu_dir).filename() == std::to_string(unit + 1) + "-batch_size=" + size);
    // The interpreter in its first line starts it.
    const std::vector<std::string> argv = words(jobs.at("train").at("argv"));
    CHECK(fs::path(argv.front()).filename() == "train.py");
    CHECK(std::vector(argv.begin() + 1, argv.end()) ==
          std::vector{"--workdir=" + wu_dir, "--batch_size=" + size});
    CHECK(words(jobs.at("report").at("argv")).back() == "--batch_size=" + size);
  }
}

TEST_CASE("README: a search completes thirty trials", "[slow]") {
  const Experiments at;
  const fs::path file =
      at.folder.write("search.toml", "base = ['" + config("vision/local.toml").string() + "']\n" +
                                         toml_with("search/Orchestrator"));
  const ShellResult launched =
      at.trivet("launch " + quoted(file.string()) + " --xp.root_dir=" + quoted(at.root.string()));
  INFO(launched.output);
  REQUIRE(launched.exit_code == 0);
  const auto has_ended = [&] {
    const nlohmann::json status = at.status();
    return status.at("units").size() == 30 && !status.at("supervised").get<bool>();
  };
  REQUIRE(comes_true(has_ended, 300));
  // Stopped trials are cancelled units.
  CHECK(at.count("completed") >= 10);
  CHECK(at.count("completed") + at.count("cancelled") == 30);
  std::set<std::string> activations;
  const nlohmann::json units = at.status().at("units");
  for (const auto& unit : units) {
    activations.insert(unit.at("sweep").at("task.model.activation"));
    CHECK(unit.at("sweep").at("trainer.learning_rate") > 1e-5);
  }
  CHECK(activations == std::set<std::string>{"nn/Gelu", "nn/Relu"});
}

}  // namespace readme_test
