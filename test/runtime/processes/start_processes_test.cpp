// SPDX-License-Identifier: Apache-2.0
// Processes without a launcher, with one, and their ends. The processes are shells.
#include "processes/start_processes.h"

#include <csignal>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "base/process_info.h"
#include "support/shell.h"
#include "trivet/error.h"

namespace start_processes_test {

using namespace trivet;
using Catch::Contains;

namespace {

const tv_collective kNoLauncher{};

std::vector<std::string> shell_of(const std::string& script, const test::TempDir& dir) {
  return {"/bin/sh", "-c", script, dir.path().string()};
}

}  // namespace

TEST_CASE("each started process knows its rank, their number and a file that all have") {
  const test::TempDir dir;
  const std::string script =
      "echo $TRIVET_RANK of $TRIVET_PROCESSES $OTHER > $0/$TRIVET_RANK; "
      "readlink /proc/self/fd/$TRIVET_WORLD_FD >> $0/$TRIVET_RANK";
  ::setenv("TRIVET_RANK", "9", 1);  // that of a process around this one
  ::setenv("OTHER", "kept", 1);
  CHECK(start_processes(kNoLauncher, 3, shell_of(script, dir)) == 0);
  ::unsetenv("TRIVET_RANK");
  ::unsetenv("OTHER");
  for (const char* rank : {"0", "1", "2"}) {
    const std::string text = test::read_file(dir / rank);
    CHECK_THAT(text, Catch::StartsWith(std::string(rank) + " of 3 kept\n"));
    CHECK_THAT(text, Contains("memfd:trivet-world"));
  }
}

TEST_CASE("the first exit code other than 0 is that of all processes") {
  const test::TempDir dir;
  CHECK(start_processes(kNoLauncher, 3, shell_of("exit $((TRIVET_RANK * 4 % 8))", dir)) == 4);
  CHECK(start_processes(kNoLauncher, 2, shell_of("kill -9 $$", dir)) == 128 + SIGKILL);
}

TEST_CASE("a process that fails ends the others, at the latest by a kill", "[slow]") {
  const test::TempDir dir;
  const double start = steady_seconds();
  CHECK(start_processes(kNoLauncher, 2,
                        shell_of("[ $TRIVET_RANK = 1 ] && exit 5; exec sleep 600", dir)) == 5);
  CHECK(steady_seconds() - start < 100);
}

TEST_CASE("a signal to the starter goes to all processes") {
  const test::TempDir dir;
  // Rank 0 signals the starter once both are ready.
  const std::string script =
      "trap 'echo got > $0/got.$TRIVET_RANK; exit 7' TERM; : > $0/ready.$TRIVET_RANK; "
      "while ! [ -e $0/ready.0 -a -e $0/ready.1 ]; do sleep 0.01; done; "
      "[ $TRIVET_RANK = 0 ] && kill -TERM $PPID; while :; do sleep 0.01; done";
  CHECK(start_processes(kNoLauncher, 2, shell_of(script, dir)) == 7);
  CHECK(test::read_file(dir / "got.0") == "got\n");
  CHECK(test::read_file(dir / "got.1") == "got\n");
}

TEST_CASE("a launcher gets its words and the command, and must be there") {
  const test::TempDir dir;
  tv_collective engine{};
  engine.launcher = [](std::int32_t) { return "env LAUNCHED=2"; };
  CHECK(start_processes(engine, 2, shell_of("echo $LAUNCHED > $0/out; exit 3", dir)) == 3);
  CHECK(test::read_file(dir / "out") == "2\n");
  engine.launcher = [](std::int32_t) { return "no-such-launcher -n 2"; };
  CHECK_THROWS_WITH(start_processes(engine, 2, {"true"}),
                    Contains("cannot start no-such-launcher"));
}

}  // namespace start_processes_test
