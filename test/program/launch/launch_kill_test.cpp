// SPDX-License-Identifier: Apache-2.0
// Experiments on this machine whose launch, supervisor or resumption is killed: every unit runs
// exactly once, none is lost and none is left running.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <random>
#include <set>
#include <string>
#include <thread>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "launched_experiments.h"
#include "support/disk/slow_disk.h"
#include "support/shell.h"

namespace launch_kill_test {

using namespace trivet::test;
using Catch::Contains;
using Json = nlohmann::json;
namespace fs = std::filesystem;

namespace {

// Not atomic on purpose: two processes that ran the same unit would write two lines.
std::string script(const std::string& work) {
  return "echo $$ >> $0/ran; " + work + "; echo \"$1\" >> $0/ended";
}

// A unit for each n from 1 to `units`, as experiment 1.
std::string launch_words(const Experiments& at, const std::string& work, int units, int cores) {
  const fs::path file = at.folder.write(
      "xp.toml", "[xp]\nroot_dir = '" + at.root.string() +
                     "'\n[xp.orchestrator]\ntype = 'local/Orchestrator'\ngrace = 1\ncores = " +
                     std::to_string(cores) +
                     "\n[xp.sweep_info]\ntype = 'sweeps/ConfigSweep'\n"
                     "[xp.jobs.main]\ntarget = '/bin/sh'\nargs = ['-c', '''" +
                     script(work) + "''', '{wu_dir}']\n");
  return "launch " + at.into_first() + "--xp=" + quoted(file.string()) + " --sweep 'n=range(1, " +
         std::to_string(units + 1) + ")'";
}

// With `settings` in front of the program's name.
ShellResult with(const Experiments& at, const std::string& settings, const std::string& words) {
  return trivet::test::trivet(words, "TRIVET_ROOT=" + quoted(at.root.string()) +
                                         " XDG_RUNTIME_DIR=" + quoted(at.folder.path().string()) +
                                         " " + settings);
}

// The output of each unit shows that it ran once.
void check_done_once(const Json& unit) {
  INFO(unit.at("wu_dir"));
  const fs::path wu_dir = unit.at("wu_dir").get<std::string>();
  const std::string ran = read_file(wu_dir / "ran");
  CHECK(std::count(ran.begin(), ran.end(), '\n') == 1);
  CHECK(read_file(wu_dir / "ended") == "--n=" + unit.at("sweep").at("n").dump() + "\n");
}

void check_all_done_once(const Experiments& at, int units) {
  const Json now = at.status();
  std::set<int> wids, swept;
  for (const Json& unit : now.at("units")) {
    wids.insert(unit.at("wid").get<int>());
    swept.insert(unit.at("sweep").at("n").get<int>());
    check_done_once(unit);
  }
  CHECK(now.at("units").size() == static_cast<std::size_t>(units));
  CHECK(wids.size() == static_cast<std::size_t>(units));
  CHECK(swept.size() == static_cast<std::size_t>(units));
  CHECK(*wids.rbegin() == units);
}

// Processes with this text in their command line.
int processes_of(const std::string& text) {
  int count = 0;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    if (read_process_file(entry.path(), "cmdline").find(text) != std::string::npos) ++count;
  }
  return count;
}

}  // namespace

TEST_CASE("a sweep of 200 units runs each unit once although its processes are killed",
          "[slow][nosan]") {
  const Experiments at;
  constexpr int kUnits = 200, kKills = 20;
  const auto launch = [&] { return launch_words(at, "sleep 1", kUnits, 16); };
  std::mt19937 random(11);
  const auto killed_soon = [&](const std::string& words) {
    const int milliseconds = 5 + static_cast<int>(random() % 400);
    with(at, "timeout -s KILL " + std::to_string(milliseconds / 1000.0) + " ", words);
  };
  // While the experiment is created ...
  constexpr int kLaunches = 6;
  for (int kill = 0; kill < kLaunches; ++kill) killed_soon(launch());
  const ShellResult launched = with(at, "", launch());
  INFO(launched.output);
  REQUIRE(launched.exit_code == 0);
  // ... and while it runs, together with the processes that continue it.
  for (int kill = kLaunches; kill < kKills; ++kill) {
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 1000));
    at.kill_supervisor();
    if (kill % 3 == 0) killed_soon("resume 1");
    if (kill % 4 == 0) killed_soon(launch());
    CHECK(at.trivet("resume 1").exit_code == 0);
  }
  REQUIRE(comes_true([&] { return at.all_are("completed"); }, 300));
  CHECK(comes_true([&] { return !at.status().at("supervised").get<bool>(); }));
  check_all_done_once(at, kUnits);
  CHECK(processes_of(at.root.string()) == 0);
}

TEST_CASE("status prints the command that continues an experiment without a supervisor",
          "[nosan]") {
  const Experiments at;
  const std::string hint =
      "; no supervisor is running; 'trivet resume 1' continues what has not ended\n";
  // Units wait for a file that the test creates.
  const ShellResult launched =
      with(at, "", launch_words(at, "while [ ! -e $0/../go ]; do sleep 0.05; done", 2, 1));
  INFO(launched.output);
  REQUIRE(launched.exit_code == 0);
  REQUIRE(comes_true([&] { return at.count("running") == 1; }));
  CHECK_THAT(at.trivet("status 1").output, !Contains("trivet resume"));
  at.kill_supervisor();
  REQUIRE(comes_true([&] { return !at.status().at("supervised").get<bool>(); }));
  CHECK_THAT(at.trivet("status 1").output, Contains(hint));
  at.folder.write("root/1/go", "");
  CHECK(at.trivet("resume 1").exit_code == 0);
  REQUIRE(comes_true([&] { return at.all_are("completed"); }));
  REQUIRE(comes_true([&] { return !at.status().at("supervised").get<bool>(); }));
  CHECK_THAT(at.trivet("status 1").output, !Contains("trivet resume"));
}

TEST_CASE("a launch that is killed at any of its writes can be completed by launching again",
          "[slow][nosan]") {
  constexpr int kUnits = 2;
  int kills = 0, without_experiment = 0;
  for (std::uint64_t call = 1; kills + 1 == static_cast<int>(call); ++call) {
    INFO("killed at call " << call);
    const Experiments at;
    const std::string launch = launch_words(at, ":", kUnits, 2);
    const SlowDisk disk{.below = at.root, .kill = call};
    if (with(at, disk.prefix(), launch).exit_code == 0) break;
    ++kills;
    const ShellResult found = at.trivet("status 1 2>&1");
    if (found.exit_code != 0) {
      CHECK_THAT(found.output,
                 Contains("no experiments in") || (Contains("the launch of experiment 1") &&
                                                   Contains("launch it again with --xid=1")));
      CHECK(at.trivet("status").exit_code == 0);
      ++without_experiment;
    } else {
      // The experiment is complete and needs no launch.
      CHECK(at.trivet("resume 1").exit_code == 0);
      CHECK(at.status().at("units").size() == kUnits);
    }
    const ShellResult again = with(at, "", launch_words(at, ":", kUnits, 2));
    INFO(again.output);
    REQUIRE(again.exit_code == 0);
    REQUIRE(comes_true([&] { return at.all_are("completed"); }));
    check_all_done_once(at, kUnits);
  }
  CHECK(without_experiment > 5);
  CHECK(kills > without_experiment);
}

}  // namespace launch_kill_test
