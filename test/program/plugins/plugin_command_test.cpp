// SPDX-License-Identifier: Apache-2.0
// Commands of plugins, through the program.
#include <catch2/catch.hpp>

#include "support/plugin_folder.h"
#include "support/shell.h"

using Catch::Contains;
using Catch::StartsWith;
using trivet::test::PluginFolder;
using trivet::test::quoted;
using trivet::test::ShellResult;
using trivet::test::TempDir;

namespace {

ShellResult run(const PluginFolder& folder, const std::string& words) {
  return trivet::test::shell(folder.trivet() + " " + words);
}

}  // namespace

TEST_CASE("a plugin's command gets its words, prints and sets the exit code") {
  const PluginFolder folder;
  folder.copy("speaker");
  const ShellResult said = run(folder, "say hello --code 7 -- --loud");
  CHECK(said.output == "hello.\n--loud.\n");
  CHECK(said.exit_code == 7);
  CHECK_THAT(run(folder, "say --help").output, Contains("--code N"));
  CHECK(run(folder, "help say").output == run(folder, "say --help").output);
  CHECK(run(folder, "speaker/say x").output == "x.\n");
  CHECK(run(folder, "say x > /dev/full").exit_code == 1);
}

TEST_CASE("help and completion know the commands of plugins") {
  const PluginFolder folder;
  folder.copy("speaker");
  const std::string help = run(folder, "--help").output;
  CHECK_THAT(help, Contains("\n  say ...") && Contains("  Says words aloud\n"));
  CHECK_THAT(help, Contains("\n  speaker/run ...") && !Contains("\n  run ..."));
  CHECK(run(folder, "help").output == help);
  CHECK(run(folder, "__complete -- sa").output == "say\n");
  CHECK(run(folder, "__complete -- say ''").output == ":files\n");
  CHECK_THAT(run(folder, "sya").output,
             StartsWith("error: unknown command 'sya'") && Contains("did you mean 'say'?"));
}

TEST_CASE("the program's command has priority over a plugin's of the same name") {
  const PluginFolder folder;
  folder.copy("speaker");
  CHECK_THAT(run(folder, "run --help").output, StartsWith("usage: trivet run"));
  CHECK(run(folder, "speaker/run x").output == "x.\n");
}

TEST_CASE("an invalid exit code is an error of the plugin") {
  const PluginFolder folder;
  folder.copy("speaker");
  for (const char* code : {"256", "300", "-1"}) {
    const ShellResult result = run(folder, std::string("say --code=") + code);
    INFO(result.output);
    CHECK(result.exit_code == 3);
    CHECK_THAT(result.output, Contains("exit code") && Contains("[plugin speaker, speaker/say]"));
  }
}

TEST_CASE("--plugin-dir may come before the command, and its folder must exist") {
  const PluginFolder none;
  const PluginFolder folder;
  folder.copy("speaker");
  const std::string option = "--plugin-dir " + quoted(folder.path().string());
  CHECK(run(none, option + " say x").output == "x.\n");
  CHECK(run(none, "--plugin-dir=" + quoted(folder.path().string()) + " say x").output == "x.\n");
  CHECK_THAT(run(none, "--help " + option).output, Contains("\n  say ..."));
  CHECK_THAT(run(none, option + " --help").output, Contains("\n  say ..."));
  for (const char* words : {"say x", "schema", "config show x.toml"}) {
    const ShellResult missing = run(folder, std::string(words) + " --plugin-dir /not/there");
    CHECK(missing.exit_code == 2);
    CHECK_THAT(missing.output, Contains("--plugin-dir /not/there: the folder does not exist"));
  }
}

TEST_CASE("two commands with one name are distinguished by their plugins") {
  const PluginFolder folder;
  folder.copy("speaker");
  folder.copy("speaker_too");
  const ShellResult both = run(folder, "say x");
  CHECK(both.exit_code == 2);
  CHECK_THAT(both.output, Contains("several plugins have a command 'say'") &&
                              Contains("speaker/say or speaker_too/say"));
  CHECK(run(folder, "speaker/say x").output == "x.\n");
  CHECK(run(folder, "speaker_too/say").output == "the other one\n");
  CHECK_THAT(run(folder, "--help").output, Contains("speaker_too/say ..."));
}

TEST_CASE("--plugin-dir finds a command and is not passed to it") {
  const PluginFolder empty, folder;
  folder.copy("speaker");
  const std::string dir = quoted(folder.path().string());
  CHECK(run(empty, "say x").exit_code == 2);
  CHECK(run(empty, "say --plugin-dir " + dir + " x").output == "x.\n");
  CHECK(run(empty, "say x --plugin-dir=" + dir).output == "x.\n");
  CHECK_THAT(run(empty, "say --plugin-dir").output, Contains("'--plugin-dir' is missing"));
  CHECK(run(folder, "say -- --plugin-dir").output == "--plugin-dir.\n");
}

TEST_CASE("errors of a plugin's command are the program's") {
  const PluginFolder folder;
  folder.copy("speaker");
  const ShellResult usage = run(folder, "say fail");
  CHECK(usage.exit_code == 2);
  CHECK_THAT(usage.output, StartsWith("error: the word cannot be said") && Contains("hum it"));
  const ShellResult thrown = run(folder, "say throw");
  CHECK(thrown.exit_code == 3);
  CHECK_THAT(thrown.output, Contains("speaker"));
  CHECK_THAT(run(folder, "say --lod").output, StartsWith("error: unknown option '--lod'"));
}

TEST_CASE("a plugin's command reads configs as the program's do") {
  const PluginFolder folder;
  folder.copy("speaker");
  folder.copy("demo");
  const TempDir dir;
  const auto file = dir.write("c.toml",
                              "name = 'x'\n[task]\ntype = 'demo/Task'\nmodel = 'demo/Mlp'\n"
                              "[task.train_input]\ntype = 'demo/Noise'\nbatch_size = 4\n"
                              "[trainer]\ntype = 'demo/Trainer'\ntrain_steps = 10\n"
                              "learning_rate = 0.5\n[runtime]\nbackend = 'demo/Backend'\n");
  const ShellResult read = run(folder, "say --config " + quoted(file.string()));
  CHECK(read.output == "x 12\n");
  CHECK(run(folder, "say --config missing.toml").exit_code == 2);
}
