// SPDX-License-Identifier: Apache-2.0
#include "trivet/os/subprocess.h"

#include <unistd.h>

#include <csignal>
#include <string>

#include <catch2/catch.hpp>

#include "support/jobs.h"
#include "support/shell.h"
#include "trivet/error.h"
#include "trivet/os/process.h"

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;

TEST_CASE("a program's outputs and exit code are collected") {
  const ProgramResult result =
      run_program({"sh", "-c", "echo \"$0\"; echo bad >&2; exit 7", "a 'b'\n$HOME"});
  CHECK(result.out == "a 'b'\n$HOME\n");
  CHECK(result.errors == "bad\n");
  CHECK(result.exit_code == 7);
  CHECK_FALSE(result.timed_out);
  CHECK(run_program({"sh", "-c", "kill -TERM $$"}).exit_code == 128 + SIGTERM);
  CHECK(run_program({"cat"}).out.empty());
}

TEST_CASE("a program may print more than a pipe holds, on both outputs") {
  const ProgramResult result = run_program(
      {"sh", "-c", "head -c 1000000 /dev/zero; head -c 1000000 /dev/zero >&2; printf end"});
  CHECK(result.out.size() == 1000003);
  CHECK(result.errors.size() == 1000000);
}

TEST_CASE("a program gets the given environment, and is found on this process's PATH") {
  const ProgramResult result =
      run_program({"sh", "-c", "echo $A-$HOME"}, {.environment = {"A=b c"}});
  CHECK(result.out == "b c-\n");
}

TEST_CASE("a missing program is reported by name and reason") {
  CHECK_THROWS_WITH(run_program({"no-such-program-here"}),
                    "cannot start 'no-such-program-here': No such file or directory");
  const TempDir dir;
  CHECK_THROWS_WITH(run_program({dir.write("plain", "").string()}), Contains("Permission denied"));
}

TEST_CASE("a program that takes too long is killed with its children") {
  const TempDir dir;
  const std::string script = "sleep 600 & echo $! > " + (dir / "pid").string() + "; wait";
  const ProgramResult result = run_program({"sh", "-c", script}, {.timeout_seconds = 0.5});
  CHECK(result.timed_out);
  CHECK(result.exit_code == 128 + SIGKILL);
  const pid_t child = std::stoi(read_file(dir / "pid"));
  CHECK(wait_until([&] { return start_ticks(child) == 0; }));
}

TEST_CASE("children of a program are not waited for") {
  const TempDir dir;
  const ProgramResult result =
      run_program({"sh", "-c", "sleep 600 & echo $!"}, {.timeout_seconds = 60});
  CHECK_FALSE(result.timed_out);
  ::kill(std::stoi(result.out), SIGKILL);
}

TEST_CASE("a program does not outlive the process that waits for it") {
  const TempDir dir;
  const std::string script = "echo $$ > " + (dir / "half").string() + "; mv " +
                             (dir / "half").string() + " " + (dir / "pid").string() +
                             "; exec sleep 600";
  const pid_t waiting = in_child([&] { run_program({"sh", "-c", script}); });
  REQUIRE(wait_until([&] { return std::filesystem::exists(dir / "pid"); }));
  const pid_t child = std::stoi(read_file(dir / "pid"));
  ::kill(waiting, SIGKILL);
  wait_for_child(waiting);
  CHECK(wait_until([&] { return start_ticks(child) == 0; }));
}
