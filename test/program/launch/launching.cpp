// SPDX-License-Identifier: Apache-2.0
#include "launching.h"

#include <catch2/catch.hpp>

#include "support/paths.h"

namespace trivet::test {

namespace fs = std::filesystem;

Launching::Launching() {
  plugins.copy("paper");
  fs::copy_file(plugin_dir() / "sweeps.so", plugins.path() / "sweeps.so");
}

std::string Launching::xp(const std::string& text) const {
  return "--xp=" + quoted(write("xp.toml", text).string()) + " ";
}

ShellResult Launching::launch(const std::string& words, const std::string& prefix) const {
  const bool has_root = words.find("--root=") != std::string::npos ||
                        words.find("--xp.root_dir=") != std::string::npos;
  return trivet::test::trivet("launch --plugin-dir=" + quoted(plugins.path().string()) +
                                  " --xp.orchestrator=paper/Orchestrator --author=ada " +
                                  (has_root ? "" : "--xp.root_dir=" + quoted(root()) + " ") + words,
                              prefix);
}

nlohmann::ordered_json Launching::plan(const std::string& words) const {
  const ShellResult result = launch(words + " --dry-run --json");
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  CHECK_FALSE(fs::exists(folder / "root"));
  return nlohmann::ordered_json::parse(result.output);
}

std::string Launching::refusal(const std::string& words) const {
  const ShellResult result = launch(words);
  INFO(result.output);
  CHECK(result.exit_code == 2);
  CHECK_FALSE(fs::exists(folder / "root"));
  return result.output;
}

std::vector<std::string> words(const nlohmann::ordered_json& argv) {
  return argv.get<std::vector<std::string>>();
}

}  // namespace trivet::test
