// SPDX-License-Identifier: Apache-2.0
// Every shipped config resolves without errors, and the small one runs.
#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

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

TEST_CASE("every config resolves, and the shown config resolves to the same") {
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
