// SPDX-License-Identifier: Apache-2.0
// Plugins that crash: the program ends with the message and the exit code of a plugin at fault.
#include <string>

#include <catch2/catch.hpp>

#include "program/run/run_fixture.h"
#include "support/plugin_folder.h"

using namespace trivet;
using Catch::Contains;

namespace {

struct Crashed {
  test::ShellResult result;
  std::string file;
};

// A run that needs the schedule NAME/Plain of the fixture NAME.
Crashed run_with(const std::string& name) {
  const test::PluginFolder folder;
  const test::TempDir temp;
  const std::string file = folder.copy(name).string();
  const test::ShellResult result =
      test::run(test::config("vision/local.toml"), temp / "run",
                "--plugin-dir " + test::quoted(folder.path().string()) +
                    " trainer.learning_rate=" + name + "/Plain");
  return {result, file};
}

void check_words(const Crashed& crashed, const std::string& what, const std::string& name) {
  INFO(crashed.result.output);
  CHECK(crashed.result.exit_code == 3);
  CHECK_THAT(crashed.result.output, Contains("error: the plugin '" + name + "' " + what + "\n"));
  CHECK_THAT(crashed.result.output, Contains("file " + crashed.file + "\n"));
  CHECK_THAT(crashed.result.output, Contains("key  " + name + "/Plain\n"));
  CHECK_THAT(crashed.result.output, Contains("debugger"));
}

}  // namespace

TEST_CASE("a fault in a static initializer of a plugin is blamed on it", "[nosan]") {
  check_words(run_with("segv_in_initializer"),
              "crashed in the static initializers of its library (SIGSEGV)", "segv_in_initializer");
}

TEST_CASE("an abort in the entry of a plugin is blamed on it", "[nosan]") {
  check_words(run_with("abort_in_entry"), "crashed in its entry (SIGABRT)", "abort_in_entry");
}

TEST_CASE("a plugin that ends the program is not a success", "[nosan]") {
  check_words(run_with("exits_in_entry"), "ended the program in its entry", "exits_in_entry");
}

TEST_CASE("a stack overflow in a constructor is blamed on its plugin", "[nosan]") {
  check_words(run_with("recursion_in_constructor"), "crashed in its schedule (SIGSEGV)",
              "recursion_in_constructor");
}

TEST_CASE("plugins that would crash are listed and explained without running them") {
  const test::PluginFolder folder;
  for (const char* name : {"segv_in_initializer", "abort_in_entry", "exits_in_entry"}) {
    folder.copy(name);
    const auto result = test::shell(folder.trivet() + " explain " + name + "/Plain");
    INFO(result.output);
    CHECK(result.exit_code == 0);
    CHECK_THAT(result.output, Contains("The value at every step."));
  }
}
