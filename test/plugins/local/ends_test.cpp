// SPDX-License-Identifier: Apache-2.0
// The local orchestrator with jobs that fail, are canceled, or outlive their supervisor.
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>

#include <catch2/catch.hpp>

#include "experiment.h"
#include "trivet/launch/attempt.h"
#include "trivet/os/process.h"

using namespace trivet;
using namespace trivet::launch;
using namespace trivet::test;
using Catch::Contains;

namespace {

// Counts its runs in a file and sets $RUN to the number.
const std::string kCounted = "echo run >> runs; RUN=$(wc -l < runs); ";
const std::string kUntilGo = ": > up; while [ ! -e go ]; do sleep 0.01; done; echo done >> log";

void kill_now(pid_t child) {
  ::kill(child, SIGKILL);
  wait_for_child(child);
}

}  // namespace

TEST_CASE("local: a failed job is retried as often as configured, each time in a new directory") {
  LocalExperiment experiment({kCounted + "echo try $RUN; [ $RUN = 3 ]"});
  Job& job = experiment.units[0].jobs[0];
  job.retries = 2;
  experiment.supervise();
  CHECK(experiment.state(1) == JobState::completed);
  CHECK(experiment.status(1).attempt == 3);
  CHECK(experiment.status(1).failures == 2);
  CHECK(read_file(job.directory / "2/stdout") == "try 2\n");
  CHECK(experiment.records().history() ==
        std::vector<std::string>{"1/main running 1", "1/main pending 1", "1/main running 2",
                                 "1/main pending 2", "1/main running 3", "1/main completed 3"});
}

TEST_CASE("local: a job that keeps failing fails for good, and others run") {
  LocalExperiment experiment({kCounted + "exit 1", "echo other"});
  experiment.units[0].jobs[0].retries = 1;
  experiment.supervise();
  CHECK(experiment.state(1) == JobState::failed);
  CHECK(experiment.status(1).exit_code == 1);
  CHECK(experiment.text("runs") == "run\nrun\n");
  CHECK(experiment.state(2) == JobState::completed);
}

TEST_CASE("local: a mistake in a config is not tried again") {
  const std::string code = GENERATE("2", "3");
  LocalExperiment experiment({kCounted + "exit " + code});
  experiment.units[0].jobs[0].retries = 5;
  experiment.supervise();
  CHECK(experiment.state(1) == JobState::failed);
  CHECK(experiment.text("runs") == "run\n");
}

TEST_CASE("local: a preempted job is started again without having a retry") {
  LocalExperiment experiment({kCounted + "[ $RUN = 3 ] || exit 75"});
  experiment.supervise();
  CHECK(experiment.state(1) == JobState::completed);
  CHECK(experiment.status(1).failures == 0);
  CHECK(experiment.records().history()[1] == "1/main preempted 1");
}

TEST_CASE("local: jobs that cannot start fail with the reason") {
  LocalExperiment experiment({"", "exit 0", "exit 0"});
  experiment.units[0].jobs[0].argv = {"/no/such/program"};
  experiment.dir.write("file", "");
  experiment.units[1].jobs[0].directory = experiment.dir / "file/jobs";
  experiment.supervise();
  CHECK(experiment.state(1) == JobState::failed);
  CHECK(experiment.status(1).detail == "cannot start /no/such/program: No such file or directory");
  CHECK(experiment.state(2) == JobState::failed);
  CHECK_THAT(experiment.status(2).detail, Contains("file/jobs") && Contains("Not a directory"));
  CHECK(experiment.state(3) == JobState::completed);
}

TEST_CASE("local: a job's time limit ends it, after the grace by force") {
  LocalExperiment experiment({"trap '' TERM; while :; do sleep 0.01; done"});
  // By then the shell has set its trap.
  experiment.units[0].jobs[0].time_limit_seconds = 1;
  experiment.config.grace = 0.05;
  experiment.supervise();
  CHECK(experiment.state(1) == JobState::failed);
  CHECK(experiment.status(1).signal == SIGKILL);
  CHECK(experiment.status(1).detail == "time limit");
}

TEST_CASE("local: with fail_fast the first failure cancels the rest") {
  LocalExperiment experiment(
      {"while [ ! -e up ]; do sleep 0.01; done; exit 1", kUntilGo, "echo wrong >> log"});
  experiment.config.fail_fast = true;
  experiment.config.max_parallel = 2;
  experiment.supervise();
  CHECK(experiment.state(1) == JobState::failed);
  CHECK(experiment.state(2) == JobState::cancelled);
  CHECK(experiment.state(3) == JobState::cancelled);
  CHECK_THAT(experiment.status(3).detail, Contains("fail_fast: job 'main' of unit 1"));
  CHECK_FALSE(experiment.has("log"));
}

TEST_CASE("local: units that are cancelled end, whether they run or wait") {
  LocalExperiment experiment({kUntilGo, "echo wrong >> log", "echo third >> log"});
  experiment.units[0].jobs[0].retries = 3;
  experiment.config.max_parallel = 1;
  const pid_t supervisor = experiment.start_supervisor();
  REQUIRE(wait_until([&] { return experiment.has("up"); }));
  for (const std::int64_t wid : {1, 2}) experiment.records().mark_cancelled(wid);
  CHECK(wait_for_child(supervisor) == 0);
  CHECK(experiment.state(1) == JobState::cancelled);
  CHECK(experiment.status(1).signal == SIGTERM);
  CHECK(experiment.state(2) == JobState::cancelled);
  CHECK(experiment.text("log") == "third\n");
}

TEST_CASE("local: units are cancelled without a supervisor, too") {
  LocalExperiment experiment({kUntilGo, "exit 0", "exit 0"});
  experiment.config.max_parallel = 1;
  const pid_t supervisor = experiment.start_supervisor();
  REQUIRE(wait_until([&] { return experiment.has("up"); }));
  kill_now(supervisor);
  FileRecords records = experiment.records();
  experiment.with(records, [&](launch::Orchestrator& orchestrator) {
    const std::int64_t wids[] = {1, 2};
    orchestrator.cancel(wids);
    const Job& job = experiment.units[0].jobs[0];
    REQUIRE(wait_until([&] { return read_attempt(job, 1).phase == AttemptPhase::ended; }));
    orchestrator.refresh(wids);
  });
  CHECK(experiment.state(1) == JobState::cancelled);
  CHECK(experiment.state(2) == JobState::cancelled);
  CHECK(experiment.state(3) == JobState::pending);
}

TEST_CASE("local: a job runs on without its supervisor, and the next one adopts it") {
  LocalExperiment experiment({kUntilGo, "echo second >> log"});
  experiment.config.max_parallel = 1;
  const pid_t supervisor = experiment.start_supervisor();
  REQUIRE(wait_until([&] { return experiment.has("up"); }));
  kill_now(supervisor);
  const std::string how = GENERATE(as<std::string>{}, "it still runs", "it has ended");
  INFO(how);
  if (how == "it still runs") {
    experiment.supervise([&] {
      experiment.dir.write("go", "");
      return false;
    });
  }
  if (how == "it has ended") {
    experiment.dir.write("go", "");
    const Job& job = experiment.units[0].jobs[0];
    REQUIRE(wait_until([&] { return read_attempt(job, 1).phase == AttemptPhase::ended; }));
    experiment.supervise();
  }
  CHECK(experiment.text("log") == "done\nsecond\n");
  CHECK(experiment.state(1) == JobState::completed);
  CHECK(experiment.status(1).attempt == 1);
  CHECK(experiment.state(2) == JobState::completed);
}

TEST_CASE("local: a supervisor that is asked to stop does not end its jobs") {
  LocalExperiment experiment({kUntilGo});
  experiment.supervise([&] { return experiment.has("up"); });
  const Job& job = experiment.units[0].jobs[0];
  CHECK(read_attempt(job, 1).phase == AttemptPhase::running);
  CHECK(experiment.state(1) == JobState::running);
  experiment.dir.write("go", "");
  experiment.supervise();
  CHECK(experiment.state(1) == JobState::completed);
  CHECK(experiment.text("log") == "done\n");
}

TEST_CASE("local: a lost job is tried again when it has a retry") {
  const std::int64_t retries = GENERATE(0, 1);
  LocalExperiment experiment({kCounted + "[ $RUN = 2 ] || { : > up; sleep 1000; }"});
  Job& job = experiment.units[0].jobs[0];
  job.retries = retries;
  const pid_t supervisor = experiment.start_supervisor();
  REQUIRE(wait_until([&] { return experiment.has("up"); }));
  const pid_t shim = read_attempt(job, 1).shim;
  SECTION("together with its supervisor") {
    kill_now(supervisor);
    ::kill(shim, SIGKILL);
    REQUIRE(wait_until([&] { return start_ticks(shim) == 0; }));
    experiment.supervise();
  }
  SECTION("alone") {
    ::kill(shim, SIGKILL);
    CHECK(wait_for_child(supervisor) == 0);
  }
  CHECK(experiment.state(1) == (retries == 0 ? JobState::lost : JobState::completed));
  CHECK(experiment.status(1).failures == 1);
}

TEST_CASE("local: refresh records what happened without a supervisor") {
  LocalExperiment experiment({kUntilGo, "exit 0"});
  experiment.config.max_parallel = 1;
  const pid_t supervisor = experiment.start_supervisor();
  REQUIRE(wait_until([&] { return experiment.has("up"); }));
  kill_now(supervisor);
  const Job& job = experiment.units[0].jobs[0];
  JobState expected = JobState::running;
  const std::string how = GENERATE(as<std::string>{}, "it runs", "it has ended", "it is gone");
  INFO(how);
  if (how == "it has ended") {
    experiment.dir.write("go", "");
    REQUIRE(wait_until([&] { return read_attempt(job, 1).phase == AttemptPhase::ended; }));
    expected = JobState::completed;
  }
  if (how == "it is gone") {
    ::kill(read_attempt(job, 1).shim, SIGKILL);
    REQUIRE(wait_until([&] { return read_attempt(job, 1).phase == AttemptPhase::lost; }));
    expected = JobState::lost;
  }
  FileRecords records = experiment.records();
  experiment.with(records, [](launch::Orchestrator& orchestrator) {
    const std::int64_t wids[] = {1, 2};
    orchestrator.refresh(wids);
  });
  CHECK(experiment.state(1) == expected);
  CHECK(experiment.state(2) == JobState::pending);
  experiment.dir.write("go", "");
  REQUIRE(wait_until([&] { return read_attempt(job, 1).phase != AttemptPhase::running; }));
}

TEST_CASE("local: units that are added while it works are done, too") {
  LocalExperiment experiment({"echo first >> log"});
  FileRecords records = experiment.records();
  const auto add_one = [&] {
    if (experiment.has("log") && experiment.units.size() == 1) {
      records.append_unit(experiment.add_unit("echo second >> log"));
    }
    return false;
  };
  experiment.with(records, [&](launch::Orchestrator& orchestrator) {
    orchestrator.supervise({.should_stop = add_one, .wake_fd = -1});
  });
  CHECK(experiment.text("log") == "first\nsecond\n");
  CHECK(experiment.state(2) == JobState::completed);
}

TEST_CASE("local: a failed job runs again after a retry", "[slow]") {
  LocalExperiment experiment({kCounted + "[ $RUN = 2 ]", "while [ ! -e go ]; do sleep 0.01; done"});
  FileRecords records = experiment.records();
  const auto ask = [&] {
    records.refresh();
    if (records.status(1, "main").state == JobState::failed) {
      const JobEvent event{1, "main", {.state = JobState::pending, .attempt = 1}};
      experiment.records().record({&event, 1});
    }
    if (records.status(1, "main").state == JobState::completed) experiment.dir.write("go", "");
    return false;
  };
  experiment.with(records, [&](launch::Orchestrator& orchestrator) {
    orchestrator.supervise({.should_stop = ask, .wake_fd = -1});
  });
  CHECK(experiment.state(1) == JobState::completed);
  CHECK(experiment.status(1).attempt == 2);
}

TEST_CASE("local: a supervisor that is woken all the time records everything once") {
  LocalExperiment experiment({"exit 0", "exit 1", "exit 0"});
  experiment.config.max_parallel = 1;
  FileRecords records = experiment.records();
  const int always_readable = ::open("/dev/zero", O_RDONLY | O_CLOEXEC);
  // Slow enough that the records are read each time, too.
  const auto slowly = [] {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return false;
  };
  experiment.with(records, [&](launch::Orchestrator& orchestrator) {
    orchestrator.supervise({.should_stop = slowly, .wake_fd = always_readable});
  });
  ::close(always_readable);
  CHECK(records.history() == std::vector<std::string>{"1/main running 1", "1/main completed 1",
                                                      "2/main running 1", "2/main failed 1",
                                                      "3/main running 1", "3/main completed 1"});
}

namespace {

// Records on a disk that is full for a while.
class FullDisk final : public UnitRecords {
 public:
  FullDisk(FileRecords& records, int failures) : records_(records), failures_(failures) {}
  std::vector<WorkUnit> units() override { return records_.units(); }
  WorkUnit add(const launch::SweepItem& item) override { return records_.add(item); }
  JobStatus status(std::int64_t wid, std::string_view job) override {
    return records_.status(wid, job);
  }
  bool is_cancelled(std::int64_t wid) override { return records_.is_cancelled(wid); }
  void refresh() override { records_.refresh(); }
  void record(std::span<const JobEvent> events, Durability durability) override {
    if (failures_-- > 0) throw RunError("cannot write events.jsonl: No space left on device");
    records_.record(events, durability);
  }
  int failures_left() const { return failures_; }

 private:
  FileRecords& records_;
  int failures_;
};

}  // namespace

TEST_CASE("local: events that a full disk rejects are recorded later, once") {
  LocalExperiment experiment({"echo one >> log", "exit 3", "echo three >> log"});
  experiment.config.max_parallel = 1;
  FileRecords files = experiment.records();
  // More than one round of the supervisor, which tries once a second when nothing else happens.
  FullDisk disk(files, 6);
  experiment.with(disk, [](launch::Orchestrator& orchestrator) {
    orchestrator.supervise({.should_stop = [] { return false; }, .wake_fd = -1});
  });
  CHECK(disk.failures_left() < 0);
  CHECK(experiment.records().history() ==
        std::vector<std::string>{"1/main running 1", "1/main completed 1", "2/main running 1",
                                 "2/main failed 1", "3/main running 1", "3/main completed 1"});
  CHECK(experiment.text("log") == "one\nthree\n");
}

TEST_CASE("local: supervisors killed at random moments do every unit exactly once", "[slow]") {
  constexpr int kUnits = 60, kKills = 20;
  LocalExperiment experiment;
  for (int wid = 1; wid <= kUnits; ++wid) {
    experiment.add_unit("sleep 0.02; echo " + std::to_string(wid) + " >> done-" +
                        std::to_string(wid));
  }
  experiment.config.max_parallel = 2;
  std::mt19937 random(4);
  std::uniform_int_distribution<int> microseconds(0, 60'000);
  for (int i = 0; i < kKills; ++i) {
    const pid_t supervisor = experiment.start_supervisor();
    // Tests a random moment, so there is no condition to wait for.
    std::this_thread::sleep_for(std::chrono::microseconds(microseconds(random)));
    kill_now(supervisor);
  }
  experiment.supervise();
  for (int wid = 1; wid <= kUnits; ++wid) {
    INFO("unit " << wid);
    CHECK(experiment.text("done-" + std::to_string(wid)) == std::to_string(wid) + "\n");
    CHECK(experiment.state(wid) == JobState::completed);
    CHECK(read_attempt(experiment.units[static_cast<std::size_t>(wid - 1)].jobs[0],
                       experiment.status(wid).attempt)
              .phase == AttemptPhase::ended);
  }
}
