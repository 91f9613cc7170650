// SPDX-License-Identifier: Apache-2.0
// Measures the cost of jobs under the local orchestrator: 1,000 work units of /bin/true, two at a
// time, against `xargs -P2 -n1 true` over as many lines, alternating. Prints the ratio of the best
// times; the seconds are this machine's. Also measures listings: best times of the program over an
// experiment of many units, each with a run, and one of 1,000.
//
//   launch_bench [UNITS [ROUNDS]]            1000 units, 5 rounds when not said
//   launch_bench listings [UNITS [ROUNDS]]   10000 units, 10 rounds

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "local/local_orchestrator.h"
#include "support/experiment_files.h"
#include "support/file_records.h"
#include "support/jobs.h"
#include "support/paths.h"
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

double time_launch(int units, const test::TempDir& dir) {
  ::setenv("XDG_RUNTIME_DIR", dir.path().c_str(), 1);
  std::vector<launch::WorkUnit> work;
  for (int wid = 1; wid <= units; ++wid) {
    work.push_back(test::shell_unit(dir, wid, ""));
    work.back().jobs[0].argv = {"/bin/true"};
  }
  test::FileRecords records(dir.path(), work);
  launch::OrchestratorContext context{dir.path(), records, [] {}};
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
  // Removes nothing before the end: ext4 creates files slowly in a directory with many recent
  // removals.
  std::deque<test::TempDir> dirs;
  for (int round = 0; round < rounds; ++round) {
    peer = std::min(peer, time_peer(units));
    launch = std::min(launch, time_launch(units, dirs.emplace_back()));
  }
  std::printf("%d jobs, two at once: launch %.3f s, xargs %.3f s, ratio %.2f\n", units, launch,
              peer, launch / peer);
  return 0;
}

void make_experiment(const test::ExperimentFiles& files, std::int64_t xid, int units) {
  files.add(xid, units);
  for (int wid = 1; wid <= units; ++wid) {
    files.add_event(xid, wid, "running");
    files.add_event(xid, wid, "completed");
    files.add_run(xid, wid, 0.5);
  }
}

double time_program(const std::string& words, int rounds) {
  const std::string command = test::quoted(test::program().string()) + " " + words + " >/dev/null";
  double best = 1e9;
  for (int round = 0; round < rounds; ++round) {
    const Clock::time_point start = Clock::now();
    if (test::shell(command).exit_code != 0) throw std::runtime_error(words + " failed");
    best = std::min(best, seconds_since(start));
  }
  return best;
}

int time_listings(int units, int rounds) {
  const test::TempDir dir;
  const test::ExperimentFiles files(dir / "root");
  make_experiment(files, 1, units);
  make_experiment(files, 2, 1000);
  const std::string root = " --root " + test::quoted(files.root().string());
  const auto print = [&](const char* words, int times) {
    std::printf("%-16s %8.1f ms\n", words, time_program(words + root, times) * 1e3);
  };
  std::printf("%d work units in experiment 1, 1000 in experiment 2\n", units);
  print("index rebuild", std::max(1, rounds / 3));
  for (const char* words : {"ls", "ls --json", "ls 2", "status", "status 1", "status 1/7",
                            "status 2", "status 2/7", "top", "--version"}) {
    print(words, rounds);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const bool listings = argc > 1 && std::string(argv[1]) == "listings";
  char** const numbers = argv + (listings ? 2 : 1);
  const auto count = argc - (numbers - argv);
  const int units = count > 0 ? std::atoi(numbers[0]) : listings ? 10'000 : 1000;
  const int rounds = count > 1 ? std::atoi(numbers[1]) : listings ? 10 : 5;
  if (count > 2 || units < 1 || rounds < 1) {
    std::fputs("usage: launch_bench [listings] [UNITS [ROUNDS]]\n", stderr);
    return 2;
  }
  try {
    return listings ? time_listings(units, rounds) : compare(units, rounds);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "launch_bench: %s\n", failure.what());
    return 1;
  }
}
