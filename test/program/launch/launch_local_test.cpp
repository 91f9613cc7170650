// SPDX-License-Identifier: Apache-2.0
// Experiments on this machine from end to end: launched, listed, cancelled, retried, and continued
// after their supervisor was killed. Jobs are shell scripts that write files.
#include <sys/types.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "launched_experiments.h"
#include "support/paths.h"

namespace launch_local_test {

using namespace trivet::test;
using Catch::Contains;
using Json = nlohmann::json;
namespace fs = std::filesystem;

namespace {

fs::path supervisor_file(const Experiments& at) {
  return at.root / "1/supervisor.json";
}

// A script that prints text and fails for one unit until a file exists.
constexpr const char* kTalks = "echo unit $1; echo trouble >&2";

}  // namespace

TEST_CASE("jobs run to their end, and their output is kept") {
  const Experiments at;
  const ShellResult launched = at.launch(kTalks, 3);
  INFO(launched.output);
  REQUIRE(launched.exit_code == 0);
  REQUIRE(comes_true([&] { return at.all_are("completed"); }));
  const Json unit = at.status("1/2").at("units").at(0);
  CHECK(unit.at("sweep") == Json{{"n", 2}});
  CHECK(unit.at("jobs").at("main").at("exit_code") == 0);
  CHECK_THAT(at.trivet("status").output, Contains("3 completed"));
  CHECK_THAT(at.trivet("status 1").output, Contains("WID") && Contains("completed"));
  const std::string logs = at.trivet("logs 1").output;
  CHECK_THAT(logs, Contains("[1/main] unit --n=1\n") && Contains("[3/main] trouble\n"));
  CHECK(at.trivet("logs 1/2/main").output == "unit --n=2\ntrouble\n");
  CHECK(at.trivet("logs -f @last/2").output == "unit --n=2\ntrouble\n");
  CHECK_THAT(at.trivet("show 1/3").output,
             Contains("/bin/sh -c") && Contains("--n=3") && Contains("    1 core\n"));
}

TEST_CASE("a failed job is reported and can be restarted") {
  const Experiments at;
  const std::string script =
      "test $1 != --n=2 -o -e " + (at.folder / "repaired").string() + " || exit 3";
  REQUIRE(at.launch(script, 2).exit_code == 0);
  REQUIRE(comes_true([&] { return at.count("failed") == 1 && at.count("completed") == 1; }));
  CHECK_THAT(at.trivet("status 1").output, Contains("exit code 3"));
  at.folder.write("repaired", "");
  CHECK_THAT(at.trivet("retry 1").output, Contains("1 work unit restarted"));
  REQUIRE(comes_true([&] { return at.all_are("completed"); }));
  const Json units = at.status().at("units");
  CHECK(units.at(0).at("jobs").at("main").at("attempt") == 1);
  CHECK(units.at(1).at("jobs").at("main").at("attempt") == 2);
}

TEST_CASE("running and waiting units can be cancelled") {
  const Experiments at;
  const std::string script = "touch $0/began; exec sleep 600";
  REQUIRE(at.launch(script, 6).exit_code == 0);
  REQUIRE(comes_true([&] { return at.count("running") == 2; }));
  CHECK_THAT(at.trivet("cancel 1/4").output, Contains("1 work unit cancelled"));
  REQUIRE(comes_true([&] { return at.count("cancelled") == 1; }));
  CHECK(at.trivet("cancel 1/6 1/5 1/6").output == "experiment 1: 2 work units cancelled\n");
  const ShellResult unknown = at.trivet("cancel 1/3 1/99");
  CHECK(unknown.exit_code == 2);
  CHECK_THAT(unknown.output, Contains("experiment 1 has no work unit 99"));
  CHECK(at.count("cancelled") == 3);
  CHECK_THAT(at.trivet("cancel 1").output, Contains("3 work units cancelled"));
  REQUIRE(comes_true([&] { return at.all_are("cancelled"); }));
  CHECK_FALSE(fs::exists(at.root / "1/4/began"));
  CHECK_THAT(at.trivet("cancel 1").output, Contains("0 work units cancelled"));
}

TEST_CASE("a job that exceeds its declared memory is reported, and the others continue") {
  const Experiments at;
  // tail keeps an incomplete line.
  const std::string script =
      "if test $1 = --n=2; then head -c 200m /dev/zero | tail > /dev/null; fi; echo said";
  REQUIRE(at.launch(script, 3, {}, "memory = '32MiB'\n").exit_code == 0);
  REQUIRE(comes_true([&] { return at.count("completed") + at.count("failed") == 3; }));
  if (read_file(at.root / "1/supervisor.log").find("counted, not enforced") != std::string::npos) {
    WARN("no cgroup may be made here");
    CHECK(at.all_are("completed"));
    return;
  }
  CHECK(at.count("completed") == 2);
  CHECK(at.state(2) == "failed");
  CHECK_THAT(at.trivet("status 1").output, Contains("memory limit of 32 MiB"));
  CHECK_THAT(at.trivet("show 1/2").output, Contains("memory limit of 32 MiB"));
}

TEST_CASE("trivet top shows the progress and resource use of running jobs") {
  const Experiments at;
  // "{{" becomes a brace in a job's arguments.
  const std::string script =
      R"(echo '{{"step":7,"kind":"train","values":{{"training_loss":0.5}},)"
      R"("rates":{{"steps_per_second":2}}}}' > $0/metrics.jsonl; )"
      R"(echo '{{"state":"running","step":7,"target":27}}' > $0/status.json; exec sleep 600)";
  REQUIRE(at.launch(script, 3).exit_code == 0);
  const auto top = [&] { return Json::parse(at.trivet("top --json").output); };
  REQUIRE(comes_true([&] {
    const Json rows = top();
    return rows.size() == 2 && rows[0].at("loss") == 0.5 && rows[1].at("loss") == 0.5;
  }));
  const Json row = top()[0];
  CHECK(row.at("job") == "1/1/main");
  CHECK(row.at("state") == "running");
  CHECK(row.at("processes").get<int>() >= 1);
  CHECK(row.at("memory_bytes").get<double>() > 0);
  CHECK(row.at("cores").get<double>() >= 0);
  CHECK(row.at("step") == 7);
  CHECK(row.at("seconds_left") == 10);
  CHECK_THAT(at.trivet("top").output, Contains("2 running in") && Contains("7/27"));
  CHECK_THAT(at.trivet("ls --state running").output, Contains("1/2  running  7/27"));
  at.trivet("cancel 1");
  REQUIRE(comes_true([&] { return at.all_are("cancelled"); }));
  CHECK(top().empty());
}

TEST_CASE("trivet top shows the newest step that a run has written") {
  const Experiments at;
  const std::string script =
      R"(s=7 r=9; [ $1 = --n=1 ] || s=9 r=7; )"
      R"(echo '{{"step":'$r',"kind":"train","values":{{"training_loss":0.5}},)"
      R"("rates":{{"steps_per_second":2}}}}' > $0/metrics.jsonl; )"
      R"(echo '{{"state":"running","step":'$s',"target":29}}' > $0/status.json; exec sleep 600)";
  REQUIRE(at.launch(script, 2).exit_code == 0);
  Json rows;
  REQUIRE(comes_true([&] {
    rows = Json::parse(at.trivet("top --json").output);
    return rows.size() == 2 && rows[0].at("loss") == 0.5 && rows[1].at("loss") == 0.5;
  }));
  for (const Json& row : rows) {
    CHECK(row.at("step") == 9);
    CHECK(row.at("seconds_left") == 10);
  }
  at.trivet("cancel 1");
  REQUIRE(comes_true([&] { return at.all_are("cancelled"); }));
}

TEST_CASE("trivet status prints the tags of an experiment") {
  const Experiments at;
  REQUIRE(at.launch("true", 1, "--xp.tags=fast,second").exit_code == 0);
  REQUIRE(comes_true([&] { return at.all_are("completed"); }));
  CHECK_THAT(at.trivet("status 1").output, Contains("\n  tags  fast, second, --sweep\n"));
}

TEST_CASE("arguments arrive as they were written") {
  const Experiments at;
  const std::string text =
      "[xp]\nroot_dir = '" + at.root.string() + "'\n[xp.jobs.main]\ntarget = '/usr/bin/printf'\n" +
      "args = ['<%s>\\n', 'a b', '\"', \"it's\", \"two\\nlines\", 'äöü €', '', '$HOME *']\n";
  const fs::path file = at.folder.write("a b.toml", text);
  REQUIRE(at.trivet("launch --xp=" + quoted(file.string())).exit_code == 0);
  REQUIRE(comes_true([&] { return at.all_are("completed"); }));
  CHECK(at.trivet("logs 1").output ==
        "<a b>\n<\">\n<it's>\n<two\nlines>\n<äöü €>\n<>\n<$HOME *>\n");
}

TEST_CASE("errors for missing names list the existing ones") {
  const Experiments at;
  CHECK_THAT(at.trivet("status 1").output, Contains("no experiments in"));
  REQUIRE(at.launch("true", 1).exit_code == 0);
  CHECK_THAT(at.trivet("status 7").output,
             Contains("experiment '7' does not exist") && Contains("last one is 1"));
  CHECK_THAT(at.trivet("status 1/5").output, Contains("no work unit 5"));
  CHECK_THAT(at.trivet("status 1/x").output, Contains("not the number of a work unit"));
  CHECK_THAT(at.trivet("logs 1/1/eval").output, Contains("names no job"));
  CHECK_THAT(at.trivet("cancel").output, Contains("takes an ID"));
  CHECK_THAT(at.trivet("status ../../etc").output, Contains("experiment '..' does not exist"));
}

TEST_CASE("after a launch its supervisor is running") {
  const Experiments at;
  const auto supervisor = [&] {
    CHECK(at.status().at("supervised") == true);
    const auto pid = json_of(supervisor_file(at)).at("pid").get<pid_t>();
    CHECK_THAT(read_file("/proc/" + std::to_string(pid) + "/cmdline"), Contains("supervise"));
    return pid;
  };
  REQUIRE(at.launch("sleep 60", 1).exit_code == 0);
  const pid_t first = supervisor();
  ::kill(first, SIGKILL);
  REQUIRE(comes_true([&] { return !at.status().at("supervised").get<bool>(); }));
  REQUIRE(at.trivet("resume 1").exit_code == 0);
  CHECK(supervisor() != first);
  // A second supervisor is not started.
  CHECK(at.trivet("resume 1").exit_code == 0);
  at.kill_supervisor();
  REQUIRE(comes_true([&] { return !at.status().at("supervised").get<bool>(); }));
  // It signals this by closing the descriptor and continues. `cat` ends then.
  shell("{ TRIVET_PLUGIN_PATH=" + quoted(plugin_dir().string()) + " " + quoted(program().string()) +
        " supervise " + quoted((at.root / "1").string()) +
        " --ready=3 3>&1 >/dev/null 2>&1 & } | cat");
  supervisor();
  const ShellResult wrong =
      at.trivet("supervise " + quoted((at.root / "1").string()) + " --ready=999");
  CHECK(wrong.exit_code == 2);
  CHECK_THAT(wrong.output, Contains("--ready is not an open file descriptor: '999'"));
}

TEST_CASE("every unit runs once although supervisors are killed", "[slow][nosan]") {
  const Experiments at;
  constexpr int kUnits = 40, kKills = 12;
  // Not atomic on purpose: two processes that ran the same unit would write two lines.
  REQUIRE(at.launch("echo $$ >> $0/ran; sleep 0.1; echo done >> $0/ended", kUnits).exit_code == 0);
  std::mt19937 random(7);
  for (int kill = 0; kill < kKills; ++kill) {
    const auto pause = std::chrono::milliseconds(random() % 400);
    std::this_thread::sleep_for(pause);
    at.kill_supervisor();
    CHECK(at.trivet("resume 1").exit_code == 0);
  }
  REQUIRE(comes_true([&] { return at.all_are("completed"); }, 120));
  for (int unit = 1; unit <= kUnits; ++unit) {
    const std::string digits = std::to_string(unit);
    const fs::path wu_dir = at.root / "1" / (std::string(2 - digits.size(), '0') + digits);
    INFO(wu_dir.string());
    const std::string ran = read_file(wu_dir / "ran");
    CHECK(std::count(ran.begin(), ran.end(), '\n') == 1);
    CHECK(read_file(wu_dir / "ended") == "done\n");
  }
}

TEST_CASE("a run's config is swept on this machine", "[slow]") {
  const Experiments at;
  const ShellResult launched =
      at.trivet("launch " + quoted(config("vision/local.toml").string()) +
                " --xp.root_dir=" + quoted(at.root.string()) +
                " --sweep trainer.learning_rate=1e-2,1e-3 trainer.train_steps=20 " + kSmallRun);
  INFO(launched.output);
  REQUIRE(launched.exit_code == 0);
  REQUIRE(comes_true([&] { return at.all_are("completed"); }));
  for (const char* name : {"1-trainer.learning_rate=0.01", "2-trainer.learning_rate=0.001"}) {
    INFO(name);
    CHECK(json_of(at.root / "1" / name / "summary.json").at("state") == "done");
  }
  CHECK_THAT(at.trivet("logs 1/1").output, Contains("done      step 20 of 20"));
}

}  // namespace launch_local_test
