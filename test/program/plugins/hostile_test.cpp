// SPDX-License-Identifier: Apache-2.0
// The program in unusual environments: streams that are closed, full or not read, an empty
// environment, inputs that are not configs, unusable run directories. Each gives a clear error and
// the right exit code, and damages no run.
#include <sys/mount.h>

#include <filesystem>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "program/run/run_fixture.h"
#include "support/paths.h"

namespace hostile_test {

using namespace trivet;
using Catch::Contains;
using test::quoted;
namespace fs = std::filesystem;

namespace {

std::string local() {
  return quoted(test::config("vision/local.toml").string());
}

std::string short_run(const fs::path& workdir) {
  return "run " + local() + " trainer.train_steps=20 --workdir " + quoted(workdir.string());
}

// Every command that only prints.
std::vector<std::string> printing_commands() {
  return {"--help",
          "--version",
          "help run",
          "plugins",
          "plugins --json",
          "explain nn/Linear",
          "schema",
          "schema layer",
          "explain seed --config " + local(),
          "completions bash",
          "config show " + local()};
}

void check_error(const test::ShellResult& result, int code, const std::string& text) {
  INFO(result.output);
  CHECK(result.exit_code == code);
  CHECK_THAT(result.output, Catch::StartsWith("error: ") && Contains(text));
}

}  // namespace

TEST_CASE("unwritable output is an error of every command", "[slow]") {
  for (const std::string& command : printing_commands()) {
    INFO(command);
    check_error(test::trivet(command + " >/dev/full"), 1, "cannot write to standard output");
    check_error(test::trivet(command + " >&-"), 1, "cannot write to standard output");
    CHECK(test::trivet(command + " <&- >&- 2>&-").exit_code == 1);
    CHECK(test::trivet(command + " <&- 2>&-").exit_code == 0);
  }
}

TEST_CASE("a bare environment is enough for every command") {
  for (std::string command : printing_commands()) {
    INFO(command);
    const auto result = test::shell("env -i " + quoted(test::program().string()) + " " + command);
    CHECK(result.exit_code == 0);
    CHECK_FALSE(result.output.empty());
  }
}

TEST_CASE("a run with closed standard streams does not write output into its files") {
  const test::TempDir temp;
  const fs::path workdir = temp / "run";
  REQUIRE(test::trivet(short_run(workdir) + " <&- >&- 2>&-").exit_code == 0);
  CHECK_THAT(test::read_file(workdir / ".lock"),
             Catch::StartsWith("process ") && !Contains("step"));
  CHECK(test::records(workdir, "eval").size() == 1);
  for (const auto& entry : fs::directory_iterator(workdir)) {
    if (!entry.is_regular_file()) continue;
    INFO(entry.path());
    CHECK_THAT(test::read_file(entry.path()), !Contains("examples/s"));
  }
}

TEST_CASE("a closed output does not end the run") {
  const test::TempDir temp;
  const fs::path workdir = temp / "run";
  const std::string code = quoted((temp / "code").string());
  const auto result = test::shell("TRIVET_PLUGIN_PATH=" + quoted(test::plugin_dir().string()) +
                                  "; { " + quoted(test::program().string()) + " " +
                                  short_run(workdir) + "; echo $? >" + code + "; } | :");
  INFO(result.output);
  CHECK(test::read_file(temp / "code") == "0\n");
  CHECK(test::json_of(workdir / "summary.json").at("state") == "done");
}

TEST_CASE("every command names a file that is not a config") {
  const test::TempDir temp;
  const auto file = [&](const char* name, const std::string& content) {
    return temp.write(name, content).string();
  };
  fs::create_directory(temp / "folder.toml");
  const std::vector<std::pair<std::string, std::string>> inputs = {
      {file("empty.toml", ""), "the required key 'task' is missing"},
      {(temp / "missing.toml").string(), "No such file or directory"},
      {(temp / "folder.toml").string(), "the path is a directory"},
      {file("latin.toml", "name = '\xE4'\n"), "the file is not UTF-8 text"},
      {file("zeros.toml", std::string(100, '\0')), "zeros.toml:1:1"},
      {file("huge.toml", std::string(9 << 20, 'a')), "larger than 8 MiB"},
      {test::program().string(), "trivet"},
  };
  for (const auto& [path, text] : inputs) {
    for (const std::string command : {"run ", "config show ", "explain seed --config "}) {
      INFO(command << path);
      check_error(test::trivet(command + quoted(path)), 2, text);
    }
  }
}

TEST_CASE("an unusable run directory is named") {
  const test::TempDir temp;
  temp.write("file", "");
  fs::create_symlink("nowhere", temp / "dangling");
  fs::create_symlink("loop", temp / "loop");
  const auto refused = [&](const std::string& name, const std::string& text) {
    INFO(name);
    check_error(test::trivet(short_run(temp / name)), 1, text);
  };
  refused("file", "is not a directory");
  refused("file/below", "Not a directory");
  refused("dangling", "dangling");
  refused("loop", "Too many levels of symbolic links");
  refused(std::string(300, 'a'), "File name too long");
  check_error(test::trivet("run " + local() + " --workdir ''"), 2, "--workdir is empty");
}

TEST_CASE("a read-only file system is named", "[nosan]") {
  const test::TempDir temp;
  fs::create_directory(temp / "disk");
  // Only if mounting is allowed; otherwise uses the kernel's read-only folders.
  const bool mounted = ::mount("none", (temp / "disk").c_str(), "tmpfs", MS_RDONLY, nullptr) == 0;
  const fs::path location = mounted ? temp / "disk" : fs::path("/sys/kernel");
  const auto result = test::trivet(short_run(location / "run"));
  if (mounted) ::umount2((temp / "disk").c_str(), MNT_DETACH);
  check_error(result, 1, (location / "run").string());
}

TEST_CASE("failed memory allocation is an error of the run that names the purpose", "[nosan]") {
  const test::TempDir temp;
  // 4 GB for the process, so that the result does not depend on the system's overcommit.
  const auto result = test::shell(
      "ulimit -v 4000000; export TRIVET_PLUGIN_PATH=" + quoted(test::plugin_dir().string()) + "; " +
      quoted(test::program().string()) + " " + short_run(temp / "run") +
      " -q task.train_input.batch_size=1000000000000");
  check_error(result, 1, "task.train_input: out of memory");
}

TEST_CASE("a memory limit that is too low for the threads is reported without a hang", "[nosan]") {
  const test::TempDir temp;
  const auto result = test::shell(
      "ulimit -v 100000; export TRIVET_PLUGIN_PATH=" + quoted(test::plugin_dir().string()) + "; " +
      quoted(test::program().string()) + " " + short_run(temp / "run") + " -q runtime.threads=8");
  INFO(result.output);
  CHECK(result.exit_code != 0);
  CHECK_THAT(result.output, Contains("ulimit -v") && Contains("runtime.threads"));
}

TEST_CASE("control characters in names are not printed") {
  const auto result = test::trivet("config show \"$(printf 'a\\033[2J\\377.toml')\"");
  check_error(result, 2, "a [2J?.toml");
}

}  // namespace hostile_test
