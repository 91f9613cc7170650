// SPDX-License-Identifier: Apache-2.0
// Searches with conditions, several objectives and enqueued points, through the program. Trials are
// a shell script that writes numbers made from its arguments.
#include <sys/types.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "program/run/run_fixture.h"
#include "support/jobs.h"

namespace launch_search_space_test {

using namespace trivet::test;
using Catch::Contains;
using Json = nlohmann::json;
namespace fs = std::filesystem;

namespace {

// One objective: n^2. The other: (n - 10)^2. The front has all from 0 to 10.
constexpr const char* kTrial = R"(
n=0
for word in "$@"; do case "$word" in --n=*) n=${word#--n=} ;; esac; done
until test -e "$1/../../go"; do sleep 0.05; done
printf '%s\n' "$@" > "$1/words"
echo '{"step": 1, "values": {"cost": '$((n*n))', "error": '$(((n-10)*(n-10)))'}}' \
    > "$1/metrics.jsonl"
)";

constexpr const char* kObjectives =
    "objectives = [{ metric = 'cost', goal = 'min' }, { metric = 'error', goal = 'min' }]\n"
    "sampler = 'search/Nsga2'\nspace.n = { int = [-20, 20] }\n";

constexpr const char* kTree =
    "objective = 'cost'\ngoal = 'min'\nspace.n = { int = [-20, 20] }\n"
    "space.kind = { choice = ['a', 'b'] }\n"
    "space.width = { int = [1, 9], when = { kind = 'b' } }\n"
    "enqueue = [{ kind = 'b', width = 7, n = 3 }, { n = 4 }]\n";

struct Searches {
  ShellResult trivet(const std::string& words) const {
    return trivet::test::trivet(words, "TRIVET_ROOT=" + quoted(root.string()) +
                                           " XDG_RUNTIME_DIR=" + quoted(folder.path().string()) +
                                           " ");
  }
  ShellResult launch(const std::string& search, const std::string& more = {}) const {
    const fs::path script = folder.write("trial.sh", kTrial);
    const fs::path file = folder.write(
        "search.toml",
        "[xp]\nroot_dir = '" + root.string() + "'\n[xp.jobs.main]\ntarget = '/bin/sh'\nargs = ['" +
            script.string() +
            "', '{wu_dir}']\n[xp.orchestrator]\ntype = 'search/Orchestrator'\ntrials = 8\n"
            "parallel = 2\norchestrator = { type = 'local/Orchestrator', cores = 2, grace = 1 }\n" +
            search);
    return trivet("launch --xp=" + quoted(file.string()) + " " + more);
  }
  std::string refusal(const std::string& search, const std::string& more = {}) const {
    const ShellResult result = launch(search, more);
    CHECK(result.exit_code == 2);
    CHECK_FALSE(fs::exists(root));
    return result.output;
  }
  void go() const {
    fs::create_directories(root);
    std::ofstream(root / "go");
  }
  Json status(const std::string& more = {}) const {
    const ShellResult result = trivet("status --json 1 " + more);
    INFO(result.output);
    REQUIRE(result.exit_code == 0);
    return Json::parse(result.output);
  }
  std::vector<Json> journal(bool of_begun) const {
    std::vector<Json> lines;
    std::ifstream in(root / "1/search.jsonl");
    for (std::string text; std::getline(in, text) && !in.eof();) {
      const Json line = Json::parse(text);
      if ((line.at("state") == "running") == of_begun) lines.push_back(line);
    }
    return lines;
  }
  bool has_ended(std::size_t trials) const {
    return wait_until(
        [&] { return journal(false).size() == trials && !status().at("supervised").get<bool>(); });
  }
  ~Searches() {
    std::error_code ignored;
    if (!fs::exists(root / "1", ignored)) return;
    trivet("cancel 1");
    wait_until([&] { return !status().at("supervised").get<bool>(); });
  }

  TempDir folder;
  fs::path root = folder / "root";
};

}  // namespace

TEST_CASE("a search over several objectives ends with its Pareto front") {
  const Searches at;
  at.go();
  REQUIRE(at.launch(kObjectives, "--xp.orchestrator.trials=30").exit_code == 0);
  REQUIRE(at.has_ended(30));
  const Json search = at.status().at("search");
  CHECK(search.at("objective") == "eval/cost");
  CHECK(search.at("objectives").size() == 2);
  CHECK(search.at("best").is_null());
  std::set<std::int64_t> front;
  for (const Json& trial : search.at("front")) front.insert(trial.get<std::int64_t>());
  CHECK_FALSE(front.empty());
  for (const Json& trial : search.at("trials")) {
    const std::int64_t n = trial.at("point").at("n").get<std::int64_t>();
    CHECK(trial.at("values") == Json({n * n, (n - 10) * (n - 10)}));
    CHECK(trial.at("value") == n * n);
    // From 0 to 10 each is better in one objective than any other.
    if (n >= 0 && n <= 10) CHECK(front.contains(trial.at("trial").get<std::int64_t>()));
  }
  const std::string text = at.trivet("status 1").output;
  CHECK_THAT(text, Contains("  search  min eval/cost, min eval/error: 30 of 30 trials"));
  CHECK_THAT(text, Contains("  front   " + std::to_string(front.size()) + " trial"));
}

TEST_CASE("keys of a search exist under their conditions, and enqueued points come first") {
  const Searches at;
  at.go();
  REQUIRE(at.launch(kTree).exit_code == 0);
  REQUIRE(at.has_ended(8));
  const std::vector<Json> begun = at.journal(true);
  CHECK(begun[0].at("point") == Json({{"n", 3}, {"kind", "b"}, {"width", 7}}));
  CHECK(begun[0].at("enqueued") == begun[0].at("point"));
  CHECK(begun[1].at("point").at("n") == 4);
  CHECK(begun[1].at("enqueued") == Json({{"n", 4}}));
  for (std::size_t i = 2; i < 8; ++i) CHECK_FALSE(begun[i].contains("enqueued"));
  const Json status = at.status();
  for (const Json& trial : status.at("search").at("trials")) {
    const Json& point = trial.at("point");
    CHECK(point.contains("width") == (point.at("kind") == "b"));
    const std::string words =
        read_file(at.root / "1" / std::to_string(trial.at("wid").get<int>()) / "words");
    CHECK((words.find("--width=") != std::string::npos) == point.contains("width"));
  }
}

TEST_CASE("a key of a search is a list of candidates") {
  const Searches at;
  const std::string lists =
      "objective = 'cost'\ngoal = 'min'\nspace.n = { int = [-20, 20] }\n"
      "space.parts = { manyof = ['a', 'b', 'c'], num_choices = 2, choices_sorted = true }\n"
      "space.order = { permutate = [1, 2, 3] }\n"
      "sampler = { type = 'search/RegularizedEvolution', population = 3, tournament = 2 }\n"
      "enqueue = [{ parts = ['a', 'c'], order = [3, 1, 2] }]\n";
  at.go();
  const ShellResult launched = at.launch(lists);
  INFO(launched.output);
  REQUIRE(launched.exit_code == 0);
  REQUIRE(at.has_ended(8));
  const std::vector<Json> begun = at.journal(true);
  CHECK(begun[0].at("point").at("parts") == Json({"a", "c"}));
  CHECK(begun[0].at("point").at("order") == Json({3, 1, 2}));
  for (const Json& line : begun) {
    const auto parts = line.at("point").at("parts").get<std::vector<std::string>>();
    CHECK((parts.size() == 2 && parts[0] < parts[1]));
    const auto order = line.at("point").at("order").get<std::set<int>>();
    CHECK(order == std::set<int>{1, 2, 3});
  }
  CHECK(at.status("--importance").at("search").at("importance").at("eval/cost").contains("order"));
}

TEST_CASE("bad lists of a search are refused by their path") {
  const Searches at;
  const std::string head = "objective = 'cost'\ngoal = 'min'\n";
  CHECK_THAT(at.refusal(head + "space.parts = { manyof = ['a', 'b'], num_choices = 3 }\n"),
             Contains("xp.orchestrator.space.parts.num_choices: is 3, and manyof has 2"));
  CHECK_THAT(at.refusal(head + "space.parts = { manyof = ['a', 'b'], num_choices = 1 }\n"
                               "enqueue = [{ parts = ['x'] }]\n"),
             Contains("enqueue[0].parts") && Contains("manyof = [\"a\", \"b\"]"));
}

TEST_CASE("points that are enqueued for a search that has ended are its next trials") {
  const Searches at;
  at.go();
  REQUIRE(at.launch(kTree).exit_code == 0);
  REQUIRE(at.has_ended(8));
  const std::string more = std::string(kTree).substr(0, std::string(kTree).find("enqueue"));
  REQUIRE(at.launch(more + "enqueue = [{ n = 4 }, { n = 11 }, { n = 4 }]\n",
                    "--xid=1 --xp.orchestrator.trials=11")
              .exit_code == 0);
  REQUIRE(at.has_ended(11));
  const std::vector<Json> begun = at.journal(true);
  CHECK(begun[8].at("enqueued") == Json({{"n", 11}}));
  // The second 4 of the list.
  CHECK(begun[9].at("enqueued") == Json({{"n", 4}}));
  CHECK_FALSE(begun[10].contains("enqueued"));
}

TEST_CASE("a killed search with enqueued points and several objectives continues where it was") {
  const Searches at;
  const std::string search =
      std::string(kObjectives) + "enqueue = [{ n = 5 }, { n = 6 }, { n = 7 }]\n";
  REQUIRE(at.launch(search).exit_code == 0);
  REQUIRE(wait_until([&] { return at.journal(true).size() == 2; }));
  for (int kill = 0; kill < 2; ++kill) {
    ::kill(json_of(at.root / "1/supervisor.json").at("pid").get<pid_t>(), SIGKILL);
    REQUIRE(wait_until([&] { return !at.status().at("supervised").get<bool>(); }));
    CHECK(at.trivet("resume 1").exit_code == 0);
    REQUIRE(wait_until([&] { return at.status().at("supervised").get<bool>(); }));
  }
  at.go();
  REQUIRE(at.has_ended(8));
  const std::vector<Json> begun = at.journal(true);
  REQUIRE(begun.size() == 8);
  for (const int i : {0, 1, 2}) {
    CHECK(begun[static_cast<std::size_t>(i)].at("point") == Json({{"n", 5 + i}}));
  }
  for (std::size_t i = 3; i < 8; ++i) CHECK_FALSE(begun[i].contains("enqueued"));
  for (const Json& line : at.journal(false)) CHECK(line.at("values").size() == 2);
}

TEST_CASE("status tells how much each key of a search matters") {
  const Searches at;
  at.go();
  REQUIRE(at.launch("objective = 'cost'\ngoal = 'min'\nspace.n = { int = [-20, 20] }\n"
                    "space.idle = { uniform = [0, 1] }\nsampler = 'search/Sobol'\n",
                    "--xp.orchestrator.trials=24")
              .exit_code == 0);
  REQUIRE(at.has_ended(24));
  const Json shares = at.status("--importance").at("search").at("importance").at("eval/cost");
  CHECK(shares.at("n").get<double>() > 0.8);
  CHECK(shares.at("idle").get<double>() < 0.2);
  CHECK_FALSE(at.status().at("search").contains("importance"));
  CHECK_THAT(at.trivet("status 1 --importance").output,
             Contains("  importance for eval/cost: n 0."));
  CHECK_THAT(at.trivet("status --importance").output, Contains("1 "));
}

TEST_CASE("records of a search of an older version are shown") {
  const Searches at;
  at.go();
  REQUIRE(at.launch(kTree).exit_code == 0);
  REQUIRE(at.has_ended(8));
  std::ofstream(at.root / "1/search.json")
      << R"({"objective": "eval/cost", "goal": "min", "trials": 8})"
      << "\n";
  const Json search = at.status("--importance").at("search");
  CHECK(search.at("objectives").size() == 1);
  CHECK(search.at("best").is_number());
  CHECK(search.at("importance").at("eval/cost").is_null());
}

TEST_CASE(
    "mistakes in a search's space, objectives and points are refused before anything is made") {
  const Searches at;
  const auto tree = [&](const std::string& more) { return at.refusal(kTree, more); };
  CHECK_THAT(tree("--xp.orchestrator.space.width.when=\"{knid = 'b'}\""),
             Contains("'knid' is not searched") && Contains("did you mean 'kind'?"));
  CHECK_THAT(tree("--xp.orchestrator.space.width.when=\"{kind = 'c'}\""),
             Contains("\"c\" is no value of 'kind'"));
  CHECK_THAT(tree("--xp.orchestrator.space.kind.when=\"{width = 3}\""),
             Contains("conditions wait for each other: kind -> width -> kind"));
  CHECK_THAT(tree("--xp.orchestrator.sampler=search/CmaEs"),
             Contains("xp.orchestrator.sampler: search/CmaEs takes no space with conditions"));
  CHECK_THAT(tree("--xp.orchestrator.enqueue='[{width = 3}]'"),
             Contains("has a condition on 'kind', which is not given"));
  CHECK_THAT(tree("--xp.orchestrator.enqueue='[{n = 21}]'"), Contains("21 is no value of 'n'"));
  CHECK_THAT(tree("--xp.orchestrator.trials=1"), Contains("has 2 points for 1 trials"));
  CHECK_THAT(at.refusal(kObjectives, "--xp.orchestrator.sampler=search/Tpe"),
             Contains("xp.orchestrator.sampler: search/Tpe takes one objective"));
  CHECK_THAT(at.refusal(kObjectives,
                        "--xp.orchestrator.stopper=\"{type = 'search/Asha', min_steps = 1}\""),
             Contains("a stopper compares one objective"));
  CHECK_THAT(at.refusal(kObjectives, "--xp.orchestrator.objective=cost"),
             Contains("objectives: is set, and also objective or goal"));
  CHECK_THAT(at.refusal("objective = 'cost'\nspace.n = { int = [0, 9] }\n"),
             Contains("xp.orchestrator.goal: is required"));
  CHECK_THAT(at.refusal("space.n = { int = [0, 9] }\nobjectives = [{ metric = 'a', goal = 'min' }, "
                        "{ metric = 'eval/a', goal = 'max' }]\n"),
             Contains("'eval/a' is listed twice"));
}

TEST_CASE("a misspelled objective of runs is refused at the launch") {
  const Searches at;
  const std::string local = quoted(trivet::test::config("vision/local.toml").string());
  const std::string search =
      " --xp.orchestrator.type=search/Orchestrator --xp.orchestrator.goal=max "
      "--xp.orchestrator.trials=2 --xp.orchestrator.space="
      "'{\"task.model\" = {choice = [\"vision/Mlp\", \"vision/Cnn\"]}, "
      "\"task.model.kernel\" = {int = [1, 3], when = {\"task.model\" = \"vision/Cnn\"}}}'";
  const ShellResult refused =
      at.trivet("launch " + local + search +
                " --xp.orchestrator.objective=acuracy --root=" + quoted(at.root.string()));
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.output, Contains("the evaluation has no metric 'acuracy'") &&
                                 Contains("did you mean 'accuracy'?"));
  CHECK_FALSE(fs::exists(at.root));
  const ShellResult planned =
      at.trivet("launch --dry-run " + local + search + " --xp.orchestrator.objective=accuracy");
  INFO(planned.output);
  CHECK(planned.exit_code == 0);
  CHECK_THAT(planned.output, Contains("task.model.kernel: int = [1, 3], when = {\"task.model\" = "
                                      "\"vision/Cnn\"}"));
}

}  // namespace launch_search_space_test
