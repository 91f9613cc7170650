// SPDX-License-Identifier: Apache-2.0
// Each file of test cases is part of a test program: one that no list names would never run.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include <catch2/catch.hpp>

#include "support/paths.h"
#include "support/shell.h"

namespace compiled_tests_test {

using namespace trivet::test;
namespace fs = std::filesystem;

namespace {

std::string text_of(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

// What the build compiles: its commands, and the files that include several sources.
std::string compiled() {
  std::string text = text_of(build_root() / "compile_commands.json");
  for (const auto& entry : fs::recursive_directory_iterator(build_root() / "test")) {
    if (entry.path().extension() == ".cpp") text += text_of(entry.path());
  }
  return text;
}

// Whether it is of a plugin that this machine cannot build.
bool lacks_plugin(const std::string& file) {
  const std::string folder = "test/plugins/";
  if (!file.starts_with(folder)) return false;
  const std::string name =
      file.substr(folder.size(), file.find('/', folder.size()) - folder.size());
  return !fs::exists(build_root() / "plugins" / (name + ".so"));
}

}  // namespace

// Under sanitizers other areas have the objects of another build.
TEST_CASE("each file of test cases is compiled into a test program", "[nosan]") {
  const ShellResult files =
      shell("cd " + quoted(source_root().string()) + " && git ls-files 'test/*_test.cpp'");
  REQUIRE(files.exit_code == 0);
  const std::string text = compiled();
  std::istringstream lines(files.output);
  int count = 0;
  for (std::string file; std::getline(lines, file); ++count) {
    if (lacks_plugin(file)) continue;
    INFO("name it in the meson.build of its area: " << file);
    CHECK((text.find("/" + file + ">") != std::string::npos ||
           text.find("/" + file + "\"") != std::string::npos));
  }
  CHECK(count > 100);
}

}  // namespace compiled_tests_test
