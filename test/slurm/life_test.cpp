// SPDX-License-Identifier: Apache-2.0
// Experiments during cluster failures: nodes are drained, the controller is killed, jobs are
// preempted, reach their time limit or are removed, launchers are killed.
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <set>
#include <string>

#include <catch2/catch.hpp>

#include "slurm_experiments.h"

using namespace trivet::test;
using Catch::Contains;
using Json = nlohmann::json;
namespace fs = std::filesystem;

namespace {

// Reports the save request, and continues after a restart.
constexpr const char* kSaves =
    "trap 'echo saved >> $0/ran; exit 75' TERM; echo run >> $0/ran; "
    "[ $(grep -c run $0/ran) = 2 ] || while :; do sleep 0.1; done";

std::int64_t lines(const fs::path& file) {
  if (!fs::exists(file)) return 0;
  const std::string text = read_file(file);
  return std::count(text.begin(), text.end(), '\n');
}

// Units in any of these states, in one query: between two queries a unit may change to a counted
// state.
int count_of(const Experiments& at, std::initializer_list<const char*> wanted) {
  const Json states = at.status().at("states");
  int count = 0;
  for (const char* state : wanted) count += states.value(state, 0);
  return count;
}

int open_units(const Experiments& at) {
  return count_of(at, {"pending", "queued", "running"});
}

// Jobs that the cluster has dropped, with or without a save.
int dropped_units(const Experiments& at) {
  return count_of(at, {"lost", "preempted"});
}

// Restores the cluster after a test, also if it has failed.
struct DrainedNode {
  explicit DrainedNode(std::string node) : name(std::move(node)) {
    cluster().command("scontrol update nodename=" + name + " state=drain reason=test");
  }
  ~DrainedNode() { cluster().command("scontrol update nodename=" + name + " state=resume"); }
  std::string name;
};

struct StoppedController {
  explicit StoppedController(int signal = SIGTERM) { cluster().stop_controller(signal); }
  ~StoppedController() { cluster().start_controller(); }
};

// The ids of an experiment's tasks that run on a node.
std::string tasks_on(const std::string& node) {
  std::string ids = cluster().command("squeue -h -a -r -t running -o '%F_%K' -w " + node).output;
  std::replace(ids.begin(), ids.end(), '\n', ' ');
  return ids;
}

}  // namespace

TEST_CASE("slurm: a job at its time limit saves and is queued again", "[slow]") {
  if (!has_slurm()) return;
  // The shortest time limit of Slurm, which signals its end within half a minute.
  const SlurmExperiments at("time = '1m'\ngrace = 55\n");
  REQUIRE(at.launch(kSaves, 1).exit_code == 0);
  REQUIRE(comes_true([&] { return at.all_are("completed"); }, 240));
  CHECK(read_file(at.unit_file(1, "ran")) == "run\nsaved\nrun\n");
  CHECK(at.job(1).at("attempt") == 2);
  CHECK(at.job(1).at("failures") == 0);
}

TEST_CASE("slurm: jobs of an array that all save at their time limit continue", "[slow]") {
  if (!has_slurm()) return;
  // All get the signal within the same second, while the controller is busy.
  const SlurmCluster wide(2, 32);
  const Experiments at("type = 'slurm/Orchestrator'\ntime = '1m'\ngrace = 55\n", wide.settings());
  const std::string saves =
      "[ ! -e $0/saved ] || exit 0; trap ': > $0/saved; kill $!; exit 75' TERM; sleep 600 & wait";
  REQUIRE(at.launch(saves, 64).exit_code == 0);
  CHECK(comes_true([&] { return open_units(at) == 0; }, 240));
  INFO(at.trivet("status 1").output);
  INFO(shell("grep . " + quoted((at.root / "1/slurm/1").string()) + "/*.log").output);
  CHECK(at.count("completed") == 64);
}

TEST_CASE("slurm: a preempted job saves and is queued again", "[slow]") {
  if (!has_slurm()) return;
  const SlurmExperiments at("partition = 'low'\ngrace = 5\n");
  REQUIRE(at.launch(kSaves, 6).exit_code == 0);
  REQUIRE(comes_true([&] { return at.count("running") == 6; }));
  const ShellResult other =
      cluster().command("sbatch --parsable -p main --output=/dev/null --wrap 'sleep 1'");
  REQUIRE(other.exit_code == 0);
  REQUIRE(comes_true([&] { return at.count("completed") >= 1; }, 120));
  const Json units = at.status().at("units");
  for (const Json& unit : units) {
    const int wid = unit.at("wid");
    if (unit.at("state") != "completed") continue;
    CHECK(read_file(at.unit_file(wid, "ran")) == "run\nsaved\nrun\n");
    CHECK(at.job(wid).at("attempt") == 2);
    CHECK(at.job(wid).at("failures") == 0);
  }
}

TEST_CASE("slurm: jobs end and are known while the controller is down", "[slow]") {
  if (!has_slurm()) return;
  const SlurmExperiments at;
  REQUIRE(at.launch("while [ ! -e $0/../go ]; do sleep 0.1; done", 8).exit_code == 0);
  REQUIRE(comes_true([&] { return at.count("running") == 6; }));
  {
    const StoppedController stopped;
    at.folder.write("root/1/go", "");
    REQUIRE(comes_true([&] { return at.count("completed") == 6; }));
    const ShellResult status = at.trivet("status 1");
    CHECK(status.exit_code == 0);
    CHECK_THAT(status.output, Contains("controller does not answer") && Contains("6 completed"));
    const ShellResult cancel = at.trivet("cancel 1/8");
    CHECK(cancel.exit_code == 1);
    CHECK_THAT(cancel.output, Contains("controller does not answer"));
  }
  // A cancelled unit does not start, although the cancel did not reach Slurm.
  REQUIRE(comes_true([&] { return at.count("completed") == 7 && at.count("cancelled") == 1; }));
  CHECK(at.state(8) == "cancelled");
}

TEST_CASE("slurm: a launcher that is killed after sbatch duplicates no job", "[slow]") {
  if (!has_slurm()) return;
  const TempDir folder;
  const std::string real = shell("command -v sbatch").output;
  const fs::path fake = folder.write(
      "sbatch", "#!/bin/sh\n" + real.substr(0, real.size() - 1) +
                    " \"$@\"\ncase \"$*\" in *--test-only*) ;; *) kill -9 $PPID;; esac\n");
  fs::permissions(fake, fs::perms::owner_all);
  const std::string orchestrator = "type = 'slurm/Orchestrator'\ngrace = 1\n";
  const Experiments killed(
      orchestrator, "PATH=" + quoted(folder.path().string()) + ":$PATH " + cluster().settings());
  const std::string script = "echo run >> $0/ran; sleep 1; echo end >> $0/ran";
  const ShellResult launched = killed.launch(script, 4);
  CHECK(launched.exit_code == 137);
  const auto trivet = [&](const std::string& words) {
    return trivet::test::trivet(
        words, cluster().settings() + "TRIVET_ROOT=" + quoted(killed.root.string()) + " ");
  };
  CHECK(trivet("resume 1").exit_code == 0);
  REQUIRE(comes_true([&] { return killed.all_are("completed"); }));
  for (int wid = 1; wid <= 4; ++wid) {
    CHECK(read_file(killed.unit_file(wid, "ran")) == "run\nend\n");
  }
}

TEST_CASE("slurm: a search continues when the controller is back", "[slow]") {
  if (!has_slurm()) return;
  const SlurmExperiments at;
  const fs::path script =
      at.folder.write("trial.sh",
                      "while [ ! -e $1/../go ]; do sleep 0.1; done\n"
                      "echo '{\"step\":1,\"kind\":\"eval\",\"values\":{\"loss\":'${2#--n=}'}}' > "
                      "$1/metrics.jsonl\n");
  const fs::path file = at.folder.write(
      "search.toml",
      "[xp]\nroot_dir = '" + at.root.string() + "'\n[xp.jobs.main]\ntarget = '/bin/sh'\nargs = ['" +
          script.string() +
          "', '{wu_dir}']\n[xp.orchestrator]\ntype = 'search/Orchestrator'\n"
          "orchestrator = { type = 'slurm/Orchestrator', grace = 1, timeout = 5 }\n"
          "sampler = 'search/Random'\nrefresh_interval = 0.5\nobjective = 'loss'\ngoal = 'min'\n"
          "trials = 8\nparallel = 2\nspace.n = { int = [0, 1000] }\n");
  const ShellResult launched = at.trivet("launch --xp=" + quoted(file.string()));
  INFO(launched.output);
  REQUIRE(launched.exit_code == 0);
  REQUIRE(comes_true([&] { return at.count("running") == 2; }));
  {
    const StoppedController stopped;
    at.folder.write("root/1/go", "");
    // The next trial cannot be submitted.
    REQUIRE(comes_true([&] {
      const fs::path log = at.root / "1/supervisor.log";
      return fs::exists(log) && read_file(log).find("the search continues") != std::string::npos;
    }));
  }
  const bool have_all_completed = comes_true([&] { return at.count("completed") == 8; }, 300);
  INFO(at.trivet("status 1").output);
  INFO(cluster().command("squeue --array; sinfo").output);
  INFO(read_file(at.root / "1/supervisor.log"));
  INFO(shell("tail -n +1 " + quoted((at.root / "1/slurm").string()) + "/*/*.log").output);
  REQUIRE(have_all_completed);
  CHECK(at.status().at("units").size() == 8);
  // Started and ended.
  CHECK(comes_true([&] { return lines(at.root / "1/search.jsonl") == 16; }));
}

TEST_CASE("slurm: a hundred units end correctly despite cluster failures", "[slow]") {
  if (!has_slurm()) return;
  const SlurmExperiments at;
  constexpr int kConfigError = 60, kTooLong = 61, kLost = 62;
  const std::string script =
      "echo run >> $0/ran; while [ ! -e $0/../go ]; do sleep 0.1; done; "
      "case $1 in --n=60) exit 2;; --n=61) sleep 600;; "
      "--n=62) [ -e $0/killed ] || {{ : > $0/killed; kill -9 $PPID; sleep 600; }};; esac; "
      "echo end >> $0/ended";
  const ShellResult launched = at.launch(script, 100, {}, "time_limit = '40s'\nretries = 0\n");
  INFO(launched.output);
  REQUIRE(launched.exit_code == 0);
  REQUIRE(comes_true([&] { return at.count("running") == 6; }));

  // Half of them, of which one runs.
  const auto before_cancel = fs::file_time_type::clock::now();
  std::string half;
  for (int wid = 6; wid < 56; ++wid) half += " 1/" + std::to_string(wid);
  const ShellResult cancelled = at.trivet("cancel" + half);
  INFO(cancelled.output);
  CHECK(cancelled.exit_code == 0);
  REQUIRE(comes_true([&] { return at.count("cancelled") == 50; }));

  {
    const DrainedNode drained("n1");
    const std::string moved = tasks_on("n1");
    REQUIRE_FALSE(moved.empty());
    CHECK(cluster().command("scontrol requeue " + moved).exit_code == 0);
    REQUIRE(comes_true([&] { return tasks_on("n1").empty(); }));
    // A controller that never saved the array comes back without any of its jobs.
    REQUIRE(comes_true([&] { return cluster().jobs_saved_at() > before_cancel; }));
    {
      // The controller comes back with its saved state, which may be incomplete: jobs may be lost.
      const StoppedController killed(SIGKILL);
      at.folder.write("root/1/go", "");
      // At least three run elsewhere: five of the first six are left, at most two of them on n1.
      const bool have_ended = comes_true([&] { return at.count("completed") >= 3; });
      INFO(at.trivet("status 1").output);
      REQUIRE(have_ended);
    }
    const bool have_all_ended = comes_true([&] { return open_units(at) == 0; }, 180);
    INFO(at.trivet("status 1").output);
    INFO(cluster().command("squeue --array; sinfo").output);
    REQUIRE(have_all_ended);
    CHECK(at.count("cancelled") == 50);
    INFO(shell("grep . " + quoted((at.root / "1/slurm/1").string()) + "/*.log").output);
    // The cluster can run six: its controller cannot lose more, and one is always lost.
    CHECK(at.count("completed") >= 41);
    // Units that must fail may be among the lost.
    CHECK(count_of(at, {"completed", "lost", "preempted", "failed"}) == 50);
    CHECK(at.state(kLost) == "lost");
  }
  const bool was_lost = at.state(kConfigError) != "failed";

  const int lost = dropped_units(at);
  CHECK(lost >= 1);
  CHECK_THAT(at.trivet("resume 1").output,
             Contains("continuing " + std::to_string(lost) + " work unit"));
  REQUIRE(comes_true([&] { return at.count("completed") == 48; }));
  REQUIRE(comes_true([&] { return at.count("failed") == 2; }, 120));
  CHECK(at.job(kConfigError).at("exit_code") == 2);
  if (!was_lost) CHECK(at.job(kConfigError).at("attempt") == 1);
  CHECK(at.job(kTooLong).at("state") == "failed");
  CHECK(at.job(kTooLong).at("detail") == "time limit");
  std::set<int> ended;
  for (int wid = 1; wid <= 100; ++wid) {
    const fs::path wu_dir = at.unit_file(wid, "");
    const std::int64_t times = lines(wu_dir / "ended");
    if (times > 0) ended.insert(wid);
    INFO(at.trivet("show 1/" + std::to_string(wid)).output);
    // Only the tasks in progress when the controller died, and the lost one, were started twice.
    const bool in_hand = wid <= 5 || wid == 56;
    if (!in_hand && wid != kLost) CHECK(lines(wu_dir / "ran") <= 1);
    // One ends twice only if its shim was killed before it could record the first end.
    const bool unrecorded = in_hand && !fs::exists(wu_dir / "jobs/main/1/exit.json");
    CHECK(times <= (unrecorded ? 2 : 1));
  }
  CHECK(ended.size() == 48);
}
