// SPDX-License-Identifier: Apache-2.0
// The plugins in records of runs and in listings: their builds, replaced shipped plugins, items
// that accept numbers, and no control characters.
#include <filesystem>
#include <fstream>
#include <string>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "program/run/run_fixture.h"
#include "support/paths.h"
#include "support/plugin_folder.h"

namespace plugin_record_test {

using namespace trivet;
using Catch::Contains;
using test::quoted;
namespace fs = std::filesystem;

namespace {

// Replaces `from` by `to`, which has the same length, everywhere in a file.
void patch(const fs::path& file, const std::string& from, const std::string& to) {
  REQUIRE(from.size() == to.size());
  std::string bytes = test::read_file(file);
  std::size_t at = bytes.find(from);
  REQUIRE(at != std::string::npos);
  for (; at != std::string::npos; at = bytes.find(from, at + to.size())) {
    bytes.replace(at, to.size(), to);
  }
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
  std::ofstream(file, std::ios::binary) << bytes;
}

// A shipped plugin in its own folder, with an unreleased version.
fs::path other_optim(const test::TempDir& folder) {
  fs::permissions(folder.path(), fs::perms::owner_all);
  const fs::path file = folder / "optim.so";
  fs::copy_file(test::plugin_dir() / "optim.so", file);
  patch(file, "{\"name\":\"optim\",\"version\":\"1", "{\"name\":\"optim\",\"version\":\"9");
  return file;
}

test::ShellResult short_run(const fs::path& workdir, const std::string& more) {
  return test::run(test::config("vision/local.toml"), workdir,
                   test::kSmallRun + std::string("trainer.checkpoint_interval=5 ") + more);
}

const nlohmann::json& row_of(const nlohmann::json& plugins, const std::string& name) {
  for (const auto& row : plugins) {
    if (row.at("name") == name) return row;
  }
  throw std::runtime_error("no record of " + name);
}

nlohmann::json start_event(const fs::path& workdir) {
  std::ifstream lines(workdir / "log.jsonl");
  for (std::string line; std::getline(lines, line);) {
    auto event = nlohmann::json::parse(line);
    if (event.at("event") == "start") return event;
  }
  throw std::runtime_error("the log has no start");
}

}  // namespace

TEST_CASE("a run records its plugins, and a resume reports changes", "[slow][nosan]") {
  const test::TempDir temp, folder;
  const fs::path workdir = temp / "run", other = temp / "other";
  REQUIRE(short_run(workdir, "trainer.train_steps=5").exit_code == 0);
  const auto summary = test::json_of(workdir / "summary.json");
  const auto state = test::json_of(workdir / "checkpoints/step_00000005/state.json");
  for (const auto& plugins :
       {start_event(workdir).at("plugins"), summary.at("plugins"), state.at("run").at("plugins")}) {
    const auto& row = row_of(plugins, "optim");
    CHECK(row.at("file") == fs::canonical(test::plugin_dir() / "optim.so").string());
    CHECK_FALSE(row.at("version").get<std::string>().empty());
    CHECK_THAT(row.at("digest").get<std::string>(), Contains(":"));
  }

  const std::string file = other_optim(folder).string();
  const std::string option = "--plugin-dir " + quoted(folder.path().string()) + " ";
  const auto resumed = short_run(workdir, option + "trainer.train_steps=6");
  INFO(resumed.output);
  CHECK(resumed.exit_code == 0);
  CHECK_THAT(resumed.output, Contains("warning: plugins changed since the checkpoint was written:"
                                      "\n  optim: 1."));
  CHECK_THAT(resumed.output,
             Contains("optim 9") && Contains("in " + file) && Contains("replaces the shipped one"));

  REQUIRE(short_run(other, "trainer.train_steps=6").exit_code == 0);
  const auto diff = test::trivet("diff " + quoted(workdir.string()) + " " + quoted(other.string()));
  INFO(diff.output);
  CHECK(diff.exit_code == 1);
  CHECK_THAT(diff.output, Contains("PLUGIN") && Contains("optim"));
}

TEST_CASE("a plugin that accepts numbers does not change the meaning of configs", "[slow]") {
  const test::TempDir temp;
  const test::PluginFolder folder;
  folder.copy("alpha");
  const std::string option = "--plugin-dir " + quoted(folder.path().string());
  const auto shown = test::trivet(
      "config show " + quoted(test::config("vision/local.toml").string()) + " " + option);
  INFO(shown.output);
  CHECK(shown.exit_code == 0);
  CHECK_THAT(shown.output, Contains("optim/Constant") && !Contains("alpha/Constant"));
  const auto run = short_run(temp / "run", option + " trainer.train_steps=2");
  INFO(run.output);
  CHECK(run.exit_code == 0);
  CHECK_THAT(
      test::trivet("plugins " + option).output,
      Contains("warning: a bare number for a schedule selects optim/Constant; alpha/Constant"));
}

TEST_CASE("a plugin that replaces a shipped one is listed as that", "[slow]") {
  const test::TempDir folder;
  other_optim(folder);
  const auto listed = test::trivet("plugins --plugin-dir " + quoted(folder.path().string()));
  INFO(listed.output);
  CHECK_THAT(listed.output, Contains("replaces the shipped plugin in " +
                                     fs::canonical(test::plugin_dir() / "optim.so").string()));
}

TEST_CASE("output of a plugin during loading is not part of a command's output") {
  const test::PluginFolder folder;
  folder.copy("hostile");
  const auto shown =
      test::trivet("config show " + quoted(test::config("vision/local.toml").string()) +
                       " --plugin-dir " + quoted(folder.path().string()) +
                       " --format json trainer.learning_rate=hostile/Schedule 2>/dev/null",
                   "TRIVET_TEST_TALKS=1 ");
  INFO(shown.output);
  CHECK(shown.exit_code == 0);
  CHECK(nlohmann::json::accept(shown.output));
}

TEST_CASE("control characters in notes of plugins are not printed") {
  const test::PluginFolder folder;
  const fs::path file = folder.copy("alpha");
  patch(file, "Test schedules.", "Test \\u001b[31m");
  patch(file, "Adds others.", "A\\u001b[31mX");
  patch(file, "The same at every step.", "The same\\u001b[31mstep.");
  const fs::path strange = folder.path() / "a\n\x1B[31mb.so";
  fs::copy_file(file, strange);
  for (const char* words : {"plugins", "explain alpha", "explain alpha/Sum", "--help"}) {
    const auto result = test::shell(folder.trivet() + " " + words);
    INFO(words);
    CHECK(result.exit_code == 0);
    CHECK(result.output.find('\x1B') == std::string::npos);
    CHECK(result.output.find("\nb.so") == std::string::npos);
  }
}

TEST_CASE("a version or license with control characters is rejected") {
  const test::PluginFolder folder;
  patch(folder.copy("alpha"), "\"license\":\"Apache-2.0\"", "\"license\":\"\\u001b[31m\"");
  const auto result = test::shell(folder.trivet() + " plugins");
  CHECK_THAT(result.output, Contains("its license has a control character"));
}

TEST_CASE("one bad schema only affects its plugin") {
  const test::PluginFolder folder;
  folder.copy("demo");
  const std::string file = folder.copy("alpha").string();
  patch(file, "\"type\":\"float\"", "\"type\":\"flout\"");
  const auto schema = test::shell(folder.trivet() + " schema");
  INFO(schema.output);
  CHECK(schema.exit_code == 0);
  CHECK_THAT(schema.output, Contains("demo/Relu") && !Contains("alpha/Sum\""));
  CHECK_THAT(schema.output, Contains("warning: " + fs::canonical(file).string()) &&
                                Contains("the schema of the schedule 'alpha/Constant'"));
  const auto listed = test::shell(folder.trivet() + " plugins");
  CHECK_THAT(listed.output, Contains("refused:") && Contains("demo 1.0.0"));
  const auto explained = test::shell(folder.trivet() + " explain alpha/Constant");
  CHECK(explained.exit_code == 3);
  CHECK_THAT(explained.output, Contains(fs::canonical(file).string()));
  CHECK(test::shell(folder.trivet() + " explain demo/Relu").exit_code == 0);
}

}  // namespace plugin_record_test
