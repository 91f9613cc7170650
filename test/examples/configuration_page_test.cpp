// SPDX-License-Identifier: Apache-2.0
// docs/configuration.md: writes its files and checks that each command prints the quoted output.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "program/launch/page_steps.h"
#include "program/run/run_fixture.h"
#include "support/paths.h"

namespace configuration_page_test {

using namespace trivet::test;

struct Example {
  std::string command, output;
};

// The commands of console blocks, each with its output lines.
std::vector<Example> examples_of(const std::filesystem::path& page) {
  std::vector<Example> examples;
  std::ifstream in(page);
  bool console = false;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("```")) {
      console = line == "```console";
    } else if (console && line.starts_with("$ ")) {
      examples.push_back({line.substr(2), {}});
    } else if (console) {
      examples.back().output += line + "\n";
    }
  }
  return examples;
}

TEST_CASE("each command of the page on configuration prints the quoted output", "[slow][nosan]") {
  const std::filesystem::path page = source_root() / "docs/configuration.md";
  const TempDir folder;
  for (const PageStep& step : steps_of(page)) {
    if (!step.file.empty()) folder.write(step.file, step.text);
  }
  const std::string there =
      "cd " + quoted(folder.path().string()) +
      " && export HOME=/nonexistent PATH=" + quoted(program().parent_path().string()) +
      ":$PATH TRIVET_PLUGIN_PATH=" + quoted(plugin_dir().string()) +
      " XDG_RUNTIME_DIR=" + quoted(folder.path().string()) + "; unset TRIVET_ROOT; ";
  const std::vector<Example> examples = examples_of(page);
  REQUIRE(examples.size() > 20);
  for (const Example& example : examples) {
    INFO("$ " << example.command);
    CHECK(shell(there + example.command).output == example.output);
  }
}

}  // namespace configuration_page_test
