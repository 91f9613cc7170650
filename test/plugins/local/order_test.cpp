// SPDX-License-Identifier: Apache-2.0
// The order in which the local orchestrator starts jobs, and their resources.
#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "experiment.h"
#include "plugins/config_round_trip.h"
#include "trivet/config.h"

using namespace trivet;
using namespace trivet::launch;
using namespace trivet::test;
using Catch::Contains;

namespace {

// Reports if another job runs at the same time.
constexpr const char* kAlone =
    "mkdir busy || echo overlap >> log; echo one >> log; sleep 0.03; rmdir busy";

std::string problems_of(LocalExperiment& experiment) {
  Diagnostics diagnostics;
  FileRecords records = experiment.records();
  experiment.with(records, [&](launch::Orchestrator& orchestrator) {
    orchestrator.check(experiment.units, diagnostics);
  });
  std::string text;
  for (const Diagnostic& problem : diagnostics.list()) {
    text += problem.path + ": " + problem.what + "\n";
  }
  return text;
}

}  // namespace

TEST_CASE("local: the config survives the way to a file and back") {
  local::LocalConfig config;
  config.max_parallel = 3;
  config.cores = 2;
  config.memory = std::int64_t{16} << 30;
  config.grace = 5;
  config.fail_fast = true;
  check_round_trip(config);
}

TEST_CASE("local: units run in order, one at a time if only one fits") {
  LocalExperiment experiment;
  for (int wid = 1; wid <= 5; ++wid) experiment.add_unit("echo " + std::to_string(wid) + " >> log");
  const std::string how =
      GENERATE(as<std::string>{}, "one core", "one job at once", "memory for one");
  INFO(how);
  if (how == "one core") {
    experiment.config.cores = 1;
  }
  if (how == "one job at once") {
    experiment.config.max_parallel = 1;
  }
  if (how == "memory for one") {
    experiment.config.memory = 100'000'000;
    for (WorkUnit& unit : experiment.units) unit.jobs[0].memory_bytes = 60'000'000;
  }
  experiment.supervise();
  CHECK(experiment.text("log") == "1\n2\n3\n4\n5\n");
  for (int wid = 1; wid <= 5; ++wid) CHECK(experiment.state(wid) == JobState::completed);
}

TEST_CASE("local: units of a higher priority start first, equal ones in order") {
  LocalExperiment experiment;
  constexpr std::int64_t kPriorities[] = {25, 200, 115, 200, 25};
  for (const std::int64_t priority : kPriorities) {
    const std::string wid = std::to_string(experiment.units.size() + 1);
    experiment.add_unit("echo " + wid + " >> log").jobs[0].priority = priority;
  }
  experiment.config.max_parallel = 1;
  SECTION("of their only job") {
    experiment.supervise();
    CHECK(experiment.text("log") == "2\n4\n3\n1\n5\n");
  }
  SECTION("of the highest of their jobs") {
    experiment.add_job("second", "echo second >> log").priority = 300;
    experiment.units.back().jobs.back().after = {{AfterKind::afterok, "main"}};
    experiment.supervise();
    CHECK(experiment.text("log") == "5\nsecond\n2\n4\n3\n1\n");
  }
}

TEST_CASE("local: jobs that need the whole machine run one at a time") {
  LocalExperiment experiment({kAlone, kAlone, kAlone});
  experiment.config.cores = 4;
  for (WorkUnit& unit : experiment.units) unit.jobs[0].cores = 4;
  experiment.supervise();
  CHECK(experiment.text("log") == "one\none\none\n");
}

TEST_CASE("local: two experiments of one user share the machine") {
  LocalExperiment first({kAlone, kAlone, kAlone});
  LocalExperiment second({kAlone, kAlone, kAlone});
  for (LocalExperiment* experiment : {&first, &second}) {
    experiment->config.cores = 4;
    for (WorkUnit& unit : experiment->units) {
      unit.jobs[0].cores = 4;
      unit.jobs[0].working_directory = first.dir.path();
    }
  }
  // Both find the ledger of the one made last.
  const pid_t other = first.start_supervisor();
  second.supervise();
  CHECK(wait_for_child(other) == 0);
  CHECK(first.text("log") == "one\none\none\none\none\none\n");
}

TEST_CASE("local: jobs of a unit start together, and only together") {
  // Each waits until the other has started.
  const std::string a = ": > a$N; while [ ! -e b$N ]; do sleep 0.01; done";
  const std::string b = ": > b$N; while [ ! -e a$N ]; do sleep 0.01; done";
  LocalExperiment experiment;
  for (int i = 1; i <= 3; ++i) {
    const std::string number = "N=" + std::to_string(i) + "; ";
    experiment.add_unit(number + a);
    experiment.add_job("second", number + b);
  }
  // Capacity for three: a unit and a half.
  experiment.config.cores = 3;
  experiment.supervise();
  for (int wid = 1; wid <= 3; ++wid) {
    CHECK(experiment.state(wid) == JobState::completed);
    CHECK(experiment.state(wid, "second") == JobState::completed);
  }
  const std::vector<std::string> history = experiment.records().history();
  const auto location_of = [&](const std::string& event) {
    return std::find(history.begin(), history.end(), event) - history.begin();
  };
  CHECK(location_of("2/second running 1") == location_of("2/main running 1") + 1);
  CHECK(location_of("2/main running 1") >
        std::min(location_of("1/main completed 1"), location_of("1/second completed 1")));
}

TEST_CASE("local: a job waits for its dependencies, and is skipped if they fail") {
  LocalExperiment experiment;
  experiment.add_unit("sleep 0.05; echo main >> log");
  const auto add = [&](const std::string& name, AfterKind kind, const std::string& other,
                       const std::string& script) {
    experiment.add_job(name, script).after = {{kind, other}};
  };
  add("then", AfterKind::afterok, "main", "echo then >> log; exit 1");
  add("on_failure", AfterKind::afternotok, "then", "echo on_failure >> log");
  add("not_started", AfterKind::afterok, "then", "echo wrong >> log");
  add("nor_this", AfterKind::after, "not_started", "echo wrong >> log");
  add("anyway", AfterKind::afterany, "nor_this", "echo anyway >> log");
  add("no_failure", AfterKind::afternotok, "main", "echo wrong >> log");
  experiment.supervise();
  CHECK(experiment.text("log").starts_with("main\nthen\n"));
  CHECK_THAT(experiment.text("log"), Contains("on_failure\n") && Contains("anyway\n"));
  CHECK_THAT(experiment.text("log"), !Contains("wrong"));
  CHECK(experiment.state(1, "then") == JobState::failed);
  CHECK(experiment.state(1, "on_failure") == JobState::completed);
  CHECK(experiment.state(1, "anyway") == JobState::completed);
  for (const char* skipped : {"not_started", "nor_this", "no_failure"}) {
    CHECK(experiment.state(1, skipped) == JobState::skipped);
  }
  CHECK(experiment.status(1, "not_started").detail ==
        "afterok:then cannot come true, it is failed");
}

TEST_CASE("local: a job may start when another has started") {
  LocalExperiment experiment({"while [ ! -e seen ]; do sleep 0.01; done"});
  experiment.add_job("beside", ": > seen").after = {{AfterKind::after, "main"}};
  experiment.supervise();
  CHECK(experiment.state(1) == JobState::completed);
  CHECK(experiment.state(1, "beside") == JobState::completed);
}

TEST_CASE("local: jobs get their own GPUs, and jobs without see none") {
  ::setenv("CUDA_VISIBLE_DEVICES", "4,7", 1);
  const std::string tell = "echo \"$CUDA_VISIBLE_DEVICES\" > ";
  LocalExperiment experiment({tell + "a", tell + "b", tell + "c", tell + "d"});
  experiment.units[0].jobs[0].gpus = 1;
  experiment.units[1].jobs[0].gpus = 1;
  experiment.units[2].jobs[0].gpus = 2;
  experiment.supervise();
  ::unsetenv("CUDA_VISIBLE_DEVICES");
  CHECK(experiment.text("c") == "4,7\n");
  CHECK(experiment.text("d") == "\n");
  // The second may have started after the first was through.
  CHECK_THAT(experiment.text("a"), Catch::Equals("4\n"));
  CHECK((experiment.text("b") == "7\n" || experiment.text("b") == "4\n"));
}

TEST_CASE("local: a job is pinned to its cores, and its environment has the number") {
  LocalExperiment experiment({"nproc > cores; echo $OMP_NUM_THREADS > threads"});
  experiment.config.cores = 0;
  experiment.supervise();
  CHECK(experiment.text("cores") == "1\n");
  CHECK(experiment.text("threads") == "1\n");
}

TEST_CASE("local: jobs that no room will ever hold are refused before anything starts") {
  LocalExperiment experiment({"exit 0", "exit 0"});
  experiment.config.cores = 2;
  experiment.config.memory = std::int64_t{1} << 30;
  CHECK(problems_of(experiment).empty());
  SECTION("cores") {
    for (WorkUnit& unit : experiment.units) unit.jobs[0].cores = 3;
    CHECK(problems_of(experiment) ==
          "jobs.main.cores: the job needs 3 cores, but this machine has 2 cores for it\n");
  }
  SECTION("memory") {
    experiment.units[1].jobs[0].memory_bytes = std::int64_t{2} << 30;
    CHECK_THAT(problems_of(experiment), Contains("jobs.main.memory: the job needs 2048 MiB of "
                                                 "memory, but this machine has 1024 MiB for it"));
  }
  SECTION("GPUs") {
    experiment.units[1].jobs[0].gpus = 999;
    CHECK_THAT(problems_of(experiment), Contains("jobs.main.gpus: the job needs 999 GPUs"));
  }
  SECTION("together") {
    experiment.add_job("second", "exit 0").cores = 2;
    CHECK_THAT(problems_of(experiment), Contains("jobs of a unit start together and need 3 cores"));
    experiment.units.back().jobs.back().after = {{AfterKind::afterok, "main"}};
    CHECK(problems_of(experiment).empty());
  }
  SECTION("max_parallel") {
    experiment.config.max_parallel = 1;
    CHECK(problems_of(experiment).empty());
    experiment.add_job("second", "exit 0");
    CHECK_THAT(problems_of(experiment), Contains("orchestrator.max_parallel: is 1, but 2 jobs"));
  }
}
