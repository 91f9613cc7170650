// SPDX-License-Identifier: Apache-2.0
// The examples in public headers are code: what a header shows is taken from it and compiled.
#include <catch2/catch.hpp>
#include <fstream>
#include <string>
#include <vector>

#include "support/paths.h"
#include "support/shell.h"

namespace header_examples_test {

using namespace trivet::test;

namespace {

// The indented parts of a header's comments that hold statements, without the signs before them.
std::vector<std::string> examples_of(const std::string& header) {
  std::vector<std::string> examples;
  std::ifstream in(source_root() / "sdk/include/trivet" / header);
  std::string block;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("//   ")) {
      block += line.substr(5) + "\n";
      continue;
    }
    if (block.find(";\n") != std::string::npos) examples.push_back(block);
    block.clear();
  }
  return examples;
}

void check_compiles(const std::string& code) {
  const TempDir temp;
  const std::string file = quoted(temp.write("example.cpp", code).string());
  const ShellResult result = shell("g++ -std=c++20 -fsyntax-only -Wall -Werror -I" +
                                   quoted((source_root() / "sdk/include").string()) + " " + file);
  INFO(code << result.output);
  CHECK(result.exit_code == 0);
}

}  // namespace

TEST_CASE("the example of a config that holds configs compiles", "[slow][nosan]") {
  const std::vector<std::string> examples = examples_of("config/config_of.h");
  REQUIRE(examples.size() == 2);
  check_compiles(R"(
#include <vector>
#include <trivet/config.h>
#include <trivet/layer.h>
#include <trivet/model.h>
)" + examples[0] +
                 R"(
namespace acme {
struct GeluConfig : trivet::LayerConfig {
  bool approximate = false;
};
TRIVET_CONFIG(GeluConfig, trivet::LayerConfig, (approximate, "By tanh."))
void change(MlpConfig& config) {
)" + examples[1] +
                 "}\n}\n");
}

}  // namespace header_examples_test
