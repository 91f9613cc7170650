// SPDX-License-Identifier: Apache-2.0
// What it costs to run jobs under the local orchestrator: 1,000 work units of /bin/true, two at
// once, against `xargs -P2 -n1 true` over as many lines, in turns. Prints the ratio of the best
// times; the seconds are this machine's.
//
//   launch_bench [UNITS [ROUNDS]]            1000 units, 5 rounds when not said

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "local/local_orchestrator.h"
#include "support/file_records.h"
#include "support/jobs.h"
#include "support/shell.h"

namespace {

using namespace trivet;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double time_peer(int units) {
  const std::string command = "seq " + std::to_string(units) + " | xargs -P2 -n1 /bin/true";
  const Clock::time_point start = Clock::now();
  if (test::shell(command).exit_code != 0) throw std::runtime_error("xargs did not run");
  return seconds_since(start);
}

double time_launch(int units) {
  const test::TempDir dir;
  ::setenv("XDG_RUNTIME_DIR", dir.path().c_str(), 1);
  std::vector<launch::WorkUnit> work;
  for (int wid = 1; wid <= units; ++wid) {
    work.push_back(test::shell_unit(dir, wid, ""));
    work.back().jobs[0].argv = {"/bin/true"};
  }
  test::FileRecords records(dir.path(), work);
  OrchestratorContext context{dir.path(), records, [] {}};
  local::LocalConfig config;
  config.cores = config.max_parallel = 2;
  const Clock::time_point start = Clock::now();
  local::LocalOrchestrator(config, context)
      .supervise({.should_stop = [] { return false; }, .wake_fd = -1});
  const double seconds = seconds_since(start);
  for (int wid = 1; wid <= units; ++wid) {
    if (records.status(wid, "main").state == launch::JobState::completed) continue;
    throw std::runtime_error("unit " + std::to_string(wid) + " was not completed");
  }
  return seconds;
}

int compare(int units, int rounds) {
  double peer = 1e9, launch = 1e9;
  for (int round = 0; round < rounds; ++round) {
    peer = std::min(peer, time_peer(units));
    launch = std::min(launch, time_launch(units));
  }
  std::printf("%d jobs, two at once: launch %.3f s, xargs %.3f s, ratio %.2f\n", units, launch,
              peer, launch / peer);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const int units = argc > 1 ? std::atoi(argv[1]) : 1000;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 5;
  if (argc > 3 || units < 1 || rounds < 1) {
    std::fputs("usage: launch_bench [UNITS [ROUNDS]]\n", stderr);
    return 2;
  }
  try {
    return compare(units, rounds);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "launch_bench: %s\n", failure.what());
    return 1;
  }
}
