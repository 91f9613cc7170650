// SPDX-License-Identifier: Apache-2.0
// Searches on this machine from end to end: launched, killed and continued, cancelled. Trials are a
// shell script that writes (n - 7)^2 to metrics.jsonl.
#include <sys/types.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "program/run/run_fixture.h"
#include "support/disk/slow_disk.h"
#include "support/jobs.h"

namespace launch_search_test {

using namespace trivet::test;
using Catch::Contains;
using Json = nlohmann::json;
namespace fs = std::filesystem;

namespace {

// Waits for a file `go` next to the experiments, if configured.
constexpr const char* kTrial = R"(
n=${2#--n=}
if test "$3" = --waits=true; then
  touch "$1/began"; until test -e "$1/../../go"; do sleep 0.05; done
fi
case "$4" in
  --kind=fails) exit 1 ;;
  --kind=silent) exit 0 ;;
  --kind=diverges) loss=NaN ;;
  *) loss=$(((n-7)*(n-7))) ;;
esac
case "$4" in
  --kind=flat) echo '{"step": 1, "loss": '$loss'}' > "$1/metrics.jsonl"; exit 0 ;;
  --kind=apart)
    mkdir "$1/continuous_eval"
    echo '{"step": 1, "kind": "train", "values": {"training_loss": 3}}' > "$1/metrics.jsonl"
    set -- "$1/continuous_eval" ;;
  --kind=misnamed)
    echo '{"step": 1, "kind": "eval", "values": {"perplexity": 9}}' > "$1/metrics.jsonl"
    echo '{"step": 2, "score": 9, "time": 3}' >> "$1/metrics.jsonl"
    exit 0 ;;
  --kind=lingers)
    if mkdir "$1/../../first"; then
      echo '{"step": 1, "kind": "eval", "values": {"loss": 1}}' > "$1/metrics.jsonl"
      exit 0
    fi
    echo '{"step": 1, "kind": "eval", "values": {"loss": 2}}' > "$1/metrics.jsonl"
    until test -e "$1/../../go"; do sleep 0.05; done ;;
esac
if test "$4" = --kind=damages; then printf '{"step": 9, "ki\377\n\000\001\n' > "$1/metrics.jsonl"; fi
echo '{"step": 1, "kind": "eval", "values": {"loss": '$loss'}}' >> "$1/metrics.jsonl"
)";

struct Searches {
  // Independent of this user's other experiments: uses another ledger.
  ShellResult trivet(const std::string& words, const std::string& settings = {}) const {
    return trivet::test::trivet(words, "TRIVET_ROOT=" + quoted(root.string()) +
                                           " XDG_RUNTIME_DIR=" + quoted(folder.path().string()) +
                                           " " + settings);
  }
  ShellResult launch(const std::string& waits, const std::string& more = {},
                     const std::string& settings = {}) const {
    const fs::path script = folder.write("trial.sh", kTrial);
    const fs::path file = folder.write(
        "search.toml", "[xp]\nroot_dir = '" + root.string() +
                           "'\n[xp.jobs.main]\ntarget = '/bin/sh'\nargs = ['" + script.string() +
                           "', '{wu_dir}']\n[xp.orchestrator]\ntype = 'search/Orchestrator'\n"
                           "orchestrator = { type = 'local/Orchestrator', cores = 2, grace = 1 }\n"
                           "objective = 'loss'\ngoal = 'min'\ntrials = 12\nparallel = 2\n"
                           "space.n = { int = [0, 1000] }\nspace.waits = { choice = [" +
                           waits + "] }\n");
    return trivet("launch --xp=" + quoted(file.string()) + " " + more, settings);
  }
  Json status() const {
    const ShellResult result = trivet("status --json 1");
    INFO(result.output);
    REQUIRE(result.exit_code == 0);
    return Json::parse(result.output);
  }
  bool is_supervised() const { return status().at("supervised").get<bool>(); }
  std::size_t units() const { return status().at("units").size(); }
  // Lines of the search's journal.
  std::vector<Json> journal(bool of_begun) const {
    std::vector<Json> lines;
    std::ifstream in(root / "1/search.jsonl");
    // The supervisor may be about to write the last line.
    for (std::string text; std::getline(in, text) && !in.eof();) {
      const Json line = Json::parse(text);
      if ((line.at("state") == "running") == of_begun) lines.push_back(line);
    }
    return lines;
  }
  void kill_supervisor() const {
    ::kill(json_of(root / "1/supervisor.json").at("pid").get<pid_t>(), SIGKILL);
    REQUIRE(wait_until([&] { return !is_supervised(); }));
  }
  ~Searches() {
    std::error_code ignored;
    if (!fs::exists(root / "1", ignored)) return;
    trivet("cancel 1");
    wait_until([&] { return !is_supervised(); });
  }

  TempDir folder;
  fs::path root = folder / "root";
};

}  // namespace

TEST_CASE("a search adds units for trials up to the requested number") {
  const Searches at;
  const ShellResult launched = at.launch("false");
  INFO(launched.output);
  REQUIRE(launched.exit_code == 0);
  CHECK_THAT(launched.output, Contains("  work units follow  "));
  REQUIRE(wait_until([&] { return at.journal(false).size() == 12; }));
  for (const Json& line : at.journal(false)) {
    CHECK(line.at("state") == "complete");
    const Json unit = at.status().at("units").at(line.at("wid").get<std::size_t>() - 1);
    const double n = unit.at("sweep").at("n").get<double>();
    CHECK(line.at("value") == (n - 7) * (n - 7));
    CHECK(unit.at("state") == "completed");
  }
  CHECK_THAT(at.trivet("status 1").output, Contains("12 completed"));
}

TEST_CASE("a search whose supervisor is killed continues with the same trials") {
  const Searches at;
  REQUIRE(at.launch("true").exit_code == 0);
  const auto began = [&](const char* wid) { return fs::exists(at.root / "1" / wid / "began"); };
  REQUIRE(wait_until([&] { return began("1") && began("2"); }));
  const Json before = at.journal(true);
  REQUIRE(before.size() == 2);
  at.kill_supervisor();
  std::ofstream(at.root / "go");
  CHECK(at.trivet("resume 1").exit_code == 0);
  REQUIRE(wait_until([&] { return at.journal(false).size() == 12; }));
  const std::vector<Json> begun = at.journal(true);
  REQUIRE(begun.size() == 12);
  CHECK(begun[0] == before[0]);
  CHECK(begun[1] == before[1]);
  std::set<std::int64_t> ended;
  for (const Json& line : at.journal(false)) {
    CHECK(line.at("state") == "complete");
    ended.insert(line.at("trial").get<std::int64_t>());
  }
  CHECK(ended.size() == 12);
}

TEST_CASE("a search that is killed repeatedly samples the same points as without kills", "[slow]") {
  const std::string one_by_one =
      "--xp.orchestrator.parallel=1 "
      "--xp.orchestrator.sampler=" +
      quoted("{type = 'search/Tpe', n_startup = 3}");
  const auto points = [](const Searches& at) {
    Json all = Json::array();
    for (const Json& line : at.journal(true)) all.push_back(line.at("point"));
    return all;
  };
  const Searches whole;
  REQUIRE(whole.launch("false", one_by_one).exit_code == 0);
  const Searches killed;
  REQUIRE(killed.launch("false", one_by_one).exit_code == 0);
  for (const std::size_t trials : {2, 5, 9}) {
    REQUIRE(wait_until([&] { return killed.journal(true).size() >= trials; }));
    killed.kill_supervisor();
    CHECK(killed.trivet("resume 1").exit_code == 0);
  }
  REQUIRE(wait_until([&] { return killed.journal(false).size() == 12; }));
  REQUIRE(wait_until([&] { return whole.journal(false).size() == 12; }));
  CHECK(points(killed) == points(whole));
  CHECK(killed.status().at("states") == whole.status().at("states"));
}

TEST_CASE("trials that fail, log no value or diverge count as failed, and the search continues",
          "[slow]") {
  const Searches at;
  const ShellResult launched = at.launch(
      "false", "--xp.orchestrator.trials=20 --xp.orchestrator.sampler=search/Random " +
                   quoted("--xp.orchestrator.space.kind={choice = ['works', 'fails', 'silent', "
                          "'diverges', 'damages']}"));
  INFO(launched.output);
  REQUIRE(launched.exit_code == 0);
  REQUIRE(wait_until([&] { return at.journal(false).size() == 20; }));
  std::map<std::string, std::set<std::string>> ends;
  for (const Json& line : at.journal(false)) {
    const Json trial = at.journal(true).at(line.at("trial").get<std::size_t>());
    ends[trial.at("point").at("kind")].insert(line.at("state").get<std::string>() + " " +
                                              line.at("detail").get<std::string>());
  }
  using Ends = std::set<std::string>;
  CHECK(ends["works"] == Ends{"complete "});
  CHECK(ends["fails"] == Ends{"failed failed"});
  CHECK(ends["silent"] == Ends{"failed its metrics.jsonl has no eval/loss"});
  CHECK(ends["diverges"] == Ends{"failed its last eval/loss is not finite"});
  // Lines that are not records are skipped.
  CHECK(ends["damages"] == Ends{"complete "});
}

TEST_CASE("trials may measure in a separate evaluation or write plain lines") {
  const Searches at;
  const std::string kind = GENERATE(as<std::string>{}, "apart", "flat");
  const ShellResult launched =
      at.launch("false", "--xp.orchestrator.trials=3 " +
                             quoted("--xp.orchestrator.space.kind={choice = ['" + kind + "']}"));
  INFO(launched.output);
  REQUIRE(launched.exit_code == 0);
  REQUIRE(wait_until([&] { return at.journal(false).size() == 3; }));
  for (const Json& line : at.journal(false)) CHECK(line.at("state") == "complete");
  REQUIRE(wait_until([&] { return !at.is_supervised(); }));
  const ShellResult status = at.trivet("status 1");
  INFO(status.output);
  CHECK(status.exit_code == 0);
  CHECK_THAT(status.output, Contains("search  min eval/loss: 3 of 3 trials, 3 complete\n") &&
                                Contains("best    ") && Contains("work unit") && Contains("VALUE"));
  const ShellResult listed = at.trivet("ls 1 --json");
  INFO(listed.output);
  const Json runs = Json::parse(listed.output);
  REQUIRE(runs.size() == 3);
  for (const Json& run : runs) {
    CHECK(run.dump().find("\"loss\":") != std::string::npos);
    CHECK((run.dump().find("\"training_loss\":") != std::string::npos) == (kind == "apart"));
  }
}

TEST_CASE("a search in which no trial has a value reports it and lists the existing metrics") {
  const Searches at;
  const ShellResult launched =
      at.launch("false", "--xp.orchestrator.trials=2 " +
                             quoted("--xp.orchestrator.space.kind={choice = ['misnamed']}"));
  INFO(launched.output);
  REQUIRE(launched.exit_code == 0);
  REQUIRE(wait_until([&] { return at.journal(false).size() == 2 && !at.is_supervised(); }));
  const std::string why =
      "2 of 2 trials have no value; trial 1: its metrics.jsonl has no eval/loss "
      "(seen: eval/perplexity, eval/score)";
  const ShellResult status = at.trivet("status 1");
  CHECK(status.exit_code == 1);
  CHECK_THAT(status.output, Contains("2 failed") && Contains(why));
  CHECK_THAT(read_file(at.root / "1/supervisor.log"), Contains(why));
  CHECK(at.status().at("search").at("best").is_null());
}

TEST_CASE("a search that was cancelled has not failed") {
  const Searches at;
  REQUIRE(at.launch("true", "--xp.orchestrator.trials=2").exit_code == 0);
  REQUIRE(wait_until([&] { return at.status().at("states").value("running", 0) == 2; }));
  SECTION("with as many trials as it was to have") {
    REQUIRE(at.trivet("cancel 1").exit_code == 0);
  }
  SECTION("with fewer") {
    at.kill_supervisor();
    REQUIRE(at.launch("true", "--xid=1 --xp.orchestrator.trials=4").exit_code == 0);
    REQUIRE(at.trivet("cancel 1/1").exit_code == 0);
    REQUIRE(wait_until([&] { return at.journal(false).size() == 1; }));
    REQUIRE(at.trivet("cancel 1").exit_code == 0);
  }
  REQUIRE(wait_until([&] { return !at.is_supervised(); }));
  const ShellResult status = at.trivet("status 1");
  INFO(status.output);
  CHECK(status.exit_code == 0);
  CHECK_THAT(status.output, Contains("failed") && !Contains("have no value"));
  CHECK(at.status().at("search").at("failure").is_null());
}

TEST_CASE("a failed search is reported until it continues", "[slow]") {
  const Searches at;
  const std::string fails = quoted("--xp.orchestrator.space.kind={choice = ['fails']}");
  REQUIRE(
      at.launch("false", "--xp.orchestrator.max_failures=2 --xp.orchestrator.parallel=1 " + fails)
          .exit_code == 0);
  REQUIRE(wait_until([&] { return at.journal(false).size() == 2 && !at.is_supervised(); }));
  const ShellResult status = at.trivet("status 1");
  INFO(status.output);
  CHECK(status.exit_code == 1);
  CHECK_THAT(status.output,
             Contains("2 of 12 trials, 2 failed\n") && Contains("2 of 2 trials have no value"));
  CHECK_THAT(at.status().at("search").at("failure").get<std::string>(),
             Contains("have no value; trial 1: failed"));
  const std::string works = quoted("--xp.orchestrator.space.kind={choice = ['works', 'fails']}");
  REQUIRE(at.launch("false", "--xid=1 --xp.orchestrator.max_failures=0 " + works).exit_code == 0);
  REQUIRE(wait_until([&] { return at.journal(false).size() == 12 && !at.is_supervised(); }));
  CHECK(at.trivet("status 1").exit_code == 0);
}

TEST_CASE("a dry run of a search prints its plan") {
  const Searches at;
  const ShellResult dry = at.launch("false", "--dry-run");
  INFO(dry.output);
  CHECK(dry.exit_code == 0);
  CHECK_THAT(dry.output,
             Contains("search for the min of loss: 12 trials, 2 at once, by search/Tpe on "
                      "local/Orchestrator\n") &&
                 Contains("  n: ") && Contains("  waits: ") && Contains("  first trial: n=") &&
                 Contains("nothing was started\n") && !Contains("unit 1"));
  CHECK_FALSE(fs::exists(at.root));
  // Only the first trial is created.
  REQUIRE(at.launch("false", "--xp.orchestrator.trials=1").exit_code == 0);
  REQUIRE(wait_until([&] { return at.journal(false).size() == 1 && !at.is_supervised(); }));
  const Json point = at.journal(true)[0].at("point");
  CHECK_THAT(dry.output, Contains("first trial: n=" + point.at("n").dump() + " waits=false\n"));
}

TEST_CASE("a search that is killed between its goal and its first trial starts with that trial") {
  const Searches at;
  REQUIRE(at.launch("false", "--xp.orchestrator.trials=3").exit_code == 0);
  REQUIRE(wait_until([&] { return at.journal(false).size() == 3 && !at.is_supervised(); }));
  const Searches killed;
  // The journal is opened after search.json: its first write kills the process.
  const SlowDisk disk{.below = killed.root / "1/search.jsonl", .kill = 1};
  const ShellResult launched = killed.launch("false", "--xp.orchestrator.trials=3", disk.prefix());
  INFO(launched.output);
  REQUIRE(wait_until([&] { return !killed.is_supervised(); }));
  REQUIRE(fs::exists(killed.root / "1/search.json"));
  CHECK(killed.journal(true).empty());
  const ShellResult status = killed.trivet("status 1");
  INFO(status.output);
  CHECK(status.exit_code == 0);
  CHECK_THAT(status.output, Contains("0 of 3 trials") && Contains("no supervisor is running"));
  REQUIRE(killed.trivet("resume 1").exit_code == 0);
  REQUIRE(wait_until([&] { return killed.journal(false).size() == 3 && !killed.is_supervised(); }));
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(killed.journal(true)[i].at("point") == at.journal(true)[i].at("point"));
  }
}

TEST_CASE("trials that a search stops are shown as stopped and are not retried") {
  const Searches at;
  // All trials after the first would run forever and are worse.
  const ShellResult launched =
      at.launch("false",
                "--xp.orchestrator.trials=3 --xp.orchestrator.parallel=1 "
                "--xp.orchestrator.sampler=search/Random --xp.orchestrator.stopper=" +
                    quoted("{type = 'search/Median', n_startup = 1}") + " " +
                    quoted("--xp.orchestrator.space.kind={choice = ['lingers']}"));
  INFO(launched.output);
  REQUIRE(launched.exit_code == 0);
  REQUIRE(wait_until([&] { return at.journal(false).size() == 3 && !at.is_supervised(); }));
  const ShellResult status = at.trivet("status 1");
  INFO(status.output);
  CHECK(status.exit_code == 0);
  CHECK_THAT(status.output, Contains("3 of 3 trials, 1 complete, 2 stopped\n") &&
                                Contains("best    1 (trial 0, work unit 1)") &&
                                Contains("2  stopped"));
  CHECK_THAT(at.trivet("retry 1").output, Contains("0 work units"));
  CHECK(at.status().at("states") == Json{{"completed", 1}, {"cancelled", 2}});
}

TEST_CASE("the output of a search can be followed before it has units") {
  const Searches at;
  REQUIRE(at.launch("false", "--xp.orchestrator.trials=3").exit_code == 0);
  const ShellResult logs = at.trivet("logs -f 1");
  INFO(logs.output);
  CHECK(logs.exit_code == 0);
  REQUIRE(wait_until([&] { return !at.is_supervised(); }));
  CHECK(at.journal(false).size() == 3);
}

TEST_CASE("a search over runs with a separate evaluation job finds their metrics", "[slow]") {
  const Searches at;
  const ShellResult launched = at.trivet(
      "launch " + quoted(config("vision/local.toml").string()) +
      " --xp.root_dir=" + quoted(at.root.string()) +
      " --xp.jobs_provider.standalone_eval=true --xp.orchestrator.type=search/Orchestrator"
      " --xp.orchestrator.objective=accuracy --xp.orchestrator.goal=max"
      " --xp.orchestrator.trials=1 --xp.orchestrator.space=" +
      quoted("{seed = {int = [1, 9]}}") + " trainer.train_steps=40 trainer.checkpoint_interval=20");
  INFO(launched.output);
  REQUIRE(launched.exit_code == 0);
  REQUIRE(wait_until([&] { return at.journal(false).size() == 1 && !at.is_supervised(); }));
  const ShellResult status = at.trivet("status 1");
  INFO(status.output);
  CHECK(status.exit_code == 0);
  CHECK(at.journal(false)[0].at("state") == "complete");
  const ShellResult listed = at.trivet("ls 1 -m accuracy --json");
  CHECK_THAT(listed.output, Contains("accuracy"));
}

TEST_CASE("a cancelled search adds no more units, and a retried one does") {
  const Searches at;
  REQUIRE(at.launch("true").exit_code == 0);
  REQUIRE(wait_until([&] { return at.status().at("states").value("running", 0) == 2; }));
  CHECK_THAT(at.trivet("cancel 1").output, Contains("2 work units cancelled"));
  REQUIRE(wait_until([&] { return !at.is_supervised(); }));
  CHECK(at.units() == 2);
  CHECK(at.journal(true).size() == 2);
  CHECK(at.journal(false).size() == 2);
  std::ofstream(at.root / "go");
  CHECK(at.trivet("retry 1").exit_code == 0);
  REQUIRE(wait_until([&] { return at.journal(false).size() == 12; }));
  // The two cancelled trials have failed, although their units have run.
  CHECK(at.journal(false)[0].at("detail") == "cancelled");
  REQUIRE(wait_until([&] { return !at.is_supervised(); }));
  CHECK(at.status().at("states") == Json{{"completed", at.units()}});
}

TEST_CASE("an impossible search is rejected before anything is created") {
  const Searches at;
  const auto refusal = [&](const ShellResult& result) {
    CHECK(result.exit_code == 2);
    CHECK_FALSE(fs::exists(at.root));
    return result.output;
  };
  CHECK_THAT(refusal(at.launch("true", "--xp.orchestrator.orchestrator.cores=1 --xp.cores=2")),
             Contains("needs 2 cores"));
  const auto space_refusal = [&](const std::string& space) {
    return refusal(at.launch("true", quoted("--xp.orchestrator.space.k=" + space)));
  };
  CHECK_THAT(refusal(at.launch("true", "--xp.orchestrator.objective=")),
             Contains("xp.orchestrator.objective: names no metric"));
  CHECK_THAT(space_refusal("{uniform = [1.0, 1.0]}"),
             Contains("space.k.uniform") && Contains("low must be less than high"));
  CHECK_THAT(space_refusal("{int = [9, 3]}"), Contains("low must be less than high"));
  CHECK_THAT(space_refusal("{log_uniform = [0.0, 1.0]}"), Contains("more than 0 on a logarithmic"));
  CHECK_THAT(space_refusal("{log_int = [-4, 8]}"), Contains("at least 1 on a logarithmic"));
  CHECK_THAT(space_refusal("{choice = []}"), Contains("at least one value"));
  CHECK_THAT(space_refusal("{choice = [1, 2, 1]}"), Contains("1 is listed twice"));
  CHECK_THAT(space_refusal("{int = [1, 2], uniform = [0.0, 1.0]}"),
             Contains("sets more than one kind of values"));
  CHECK_THAT(space_refusal("{}"), Contains("sets no values"));
  CHECK_THAT(space_refusal("{unifrom = [0.0, 1.0]}"), Contains("did you mean 'uniform'"));
  CHECK_THAT(refusal(at.launch("true", "--xp.orchestrator.goal=least")), Contains("min, max"));
  CHECK_THAT(refusal(at.launch("true", "--xp.orchestrator.sampler=search/Tpee")),
             Contains("search/Tpe"));
  const std::string config_search =
      "launch " + quoted(config("vision/local.toml").string()) +
      " --xp.root_dir=" + quoted(at.root.string()) +
      " --xp.orchestrator.type=search/Orchestrator --xp.orchestrator.objective=accuracy"
      " --xp.orchestrator.goal=max --xp.orchestrator.trials=3 --xp.orchestrator.space=";
  CHECK_THAT(
      refusal(at.trivet(config_search + quoted("{seed = {int = [1, 9]}}") + " --sweep seed=1,2")),
      Contains("search/Orchestrator generates the work units"));
  CHECK_THAT(refusal(at.trivet(config_search +
                               quoted("{'trainer.learning_rte' = {uniform = [0.1, 0.2]}}"))),
             Contains("learning_rte") && Contains("learning_rate"));
  CHECK_THAT(refusal(at.trivet(config_search + quoted("{seed = {int = [1, 9]}}") + " seed=2")),
             Contains("seed: the field is both swept and set"));
  CHECK_THAT(refusal(at.trivet(config_search +
                               quoted("{trainer.learning_rate = {uniform = [0.1, 0.2]}}"))),
             Contains("in quotes: \"trainer.learning_rate\""));
  CHECK_THAT(
      refusal(at.trivet(config_search + quoted("{'task.model.dropout' = {uniform = [0.0, 1.0]}}"))),
      Contains("task.model.dropout") && Contains("1"));
}

}  // namespace launch_search_test
