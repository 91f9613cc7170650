// SPDX-License-Identifier: Apache-2.0
// run_job(): a job of a recorded unit, as run by the script of a cluster's job.
#include "trivet/launch/job_array.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "support/file_records.h"
#include "support/jobs.h"
#include "trivet/config/json.h"
#include "trivet/error.h"
#include "trivet/os/process.h"

using namespace trivet;
using namespace trivet::launch;
using namespace trivet::test;
using Catch::Contains;

namespace {

// Counts its runs in a file and sets $RUN to the number.
const std::string kCounted = "echo run >> runs; RUN=$(wc -l < runs); ";

struct RecordedJob {
  explicit RecordedJob(const std::string& script) : unit(shell_unit(dir, 1, script)) {}

  Job& job() { return unit.jobs[0]; }
  FileRecords records() const { return FileRecords(dir.path(), {unit}); }
  JobStatus status() const { return records().status(1, "main"); }
  void record(JobState state, std::int64_t attempt) const {
    FileRecords own = records();
    const JobEvent event{1, "main", {.state = state, .attempt = attempt}};
    own.record({&event, 1});
  }
  std::string runs() const {
    return std::filesystem::exists(dir / "runs") ? read_file(dir / "runs") : "";
  }

  int run() {
    FileRecords own = records();
    return run_job(own, 1, job(), options());
  }
  // In a child process, which ends with the exit code.
  pid_t start() {
    return in_child([this] { ::_exit(run()); });
  }
  static JobRunOptions options() {
    JobArray array;
    array.grace_seconds = 20;
    return {.attempt = attempt_options(array), .detail = "task 7"};
  }

  TempDir dir;
  WorkUnit unit;
};

}  // namespace

TEST_CASE("a job of an array runs, and its result is recorded") {
  RecordedJob one("echo said");
  CHECK(one.run() == 0);
  CHECK(one.status().state == JobState::completed);
  CHECK(one.records().history() ==
        std::vector<std::string>{"1/main running 1", "1/main completed 1"});
  CHECK(read_file(one.job().directory / "1/stdout") == "said\n");
  // A second task for the same job, or the same one again, does nothing.
  CHECK(one.run() == 0);
  CHECK(one.status().attempt == 1);
}

TEST_CASE("a job of an array is retried in place, as often as configured") {
  RecordedJob one(kCounted + "[ $RUN = 3 ] || exit 9");
  one.job().retries = GENERATE(1, 2);
  const bool is_enough = one.job().retries == 2;
  CHECK(one.run() == (is_enough ? 0 : 9));
  CHECK(one.status().state == (is_enough ? JobState::completed : JobState::failed));
  CHECK(one.status().attempt == one.job().retries + 1);
}

TEST_CASE("a job of an array that is retried elsewhere requests a restart after each failure") {
  RecordedJob one(kCounted + "[ $RUN = 2 ] || exit 9");
  one.job().retries = 1;
  const auto run = [&] {
    FileRecords own = one.records();
    JobRunOptions options = RecordedJob::options();
    options.retries_elsewhere = true;
    return run_job(own, 1, one.job(), options);
  };
  CHECK(run() == kExitPreempted);
  CHECK(one.status().state == JobState::pending);
  CHECK(one.status().failures == 1);
  CHECK(run() == 0);
  CHECK(one.status().attempt == 2);
  // A failure that `retries` does not pay for ends the job.
  RecordedJob other("exit 9");
  FileRecords own = other.records();
  JobRunOptions options = RecordedJob::options();
  options.retries_elsewhere = true;
  CHECK(run_job(own, 1, other.job(), options) == 9);
}

TEST_CASE("a run has as many processes as its machines have places for") {
  Job job;
  job.argv = {"/bin/trivet", "--processes=8"};
  job.replicas = job.processes = 8;
  job.nodes = 4;
  job.process_counts = {2, 4, 8};
  for (const auto& [nodes, processes] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{4, 8}, {9, 8}, {3, 4}, {2, 4}, {1, 2}}) {
    INFO(nodes);
    CHECK(for_nodes(job, nodes).processes == processes);
  }
  job.process_counts = {4, 8};
  CHECK(for_nodes(job, 1).processes == 4);
  job.process_counts = {};
  CHECK(for_nodes(job, 1).processes == 8);
}

TEST_CASE("the starter of a job has its nodes and replicas, and starts no single process") {
  JobArray array;
  array.starter = {"/usr/bin/env",         "srun", "-N{nodes}", "-n{replicas}",
                   "-t{replicas_on_node}", "--"};
  Job job;
  job.argv = {"/bin/trivet", "--processes=6"};
  job.replicas = job.processes = 6;
  job.nodes = 3;
  job.process_counts = {1, 3, 6};
  const auto started = [&](std::int64_t processes) {
    return with_starter(with_processes(job, processes), array).argv;
  };
  using Words = std::vector<std::string>;
  CHECK(started(6) ==
        Words{"/usr/bin/env", "srun", "-N3", "-n6", "-t2", "--", "/bin/trivet", "--processes=6"});
  CHECK(started(3) ==
        Words{"/usr/bin/env", "srun", "-N2", "-n3", "-t2", "--", "/bin/trivet", "--processes=3"});
  CHECK(started(1) == Words{"/bin/trivet", "--processes=1"});
}

TEST_CASE("a job of an array is not tried again after a mistake in its config") {
  RecordedJob one(kCounted + "exit 2");
  one.job().retries = 5;
  CHECK(one.run() == 2);
  CHECK(one.runs() == "run\n");
}

TEST_CASE("a preempted job of an array requests a restart, and continues then") {
  RecordedJob one(kCounted + "[ $RUN = 2 ] || exit 75");
  CHECK(one.run() == 75);
  CHECK(one.status().state == JobState::preempted);
  // The record of an orchestrator while Slurm has the job in its queue.
  if (GENERATE(false, true)) one.record(JobState::queued, 1);
  CHECK(one.run() == 0);
  CHECK(one.status().attempt == 2);
  CHECK(one.status().failures == 0);
}

TEST_CASE("a lost attempt of a restarted job is not a failure") {
  RecordedJob one(kCounted + "[ $RUN = 2 ] || { : > up; sleep 600; }");
  const pid_t runner = one.start();
  REQUIRE(wait_until([&] { return std::filesystem::exists(one.dir / "up"); }));
  ::kill(runner, SIGKILL);
  wait_for_child(runner);
  REQUIRE(wait_until([&] { return read_attempt(one.job(), 1).phase == AttemptPhase::lost; }));
  // Whether somebody has looked in between makes no difference.
  if (GENERATE(false, true)) one.record(JobState::lost, 1);
  CHECK(one.run() == 0);
  CHECK(one.status().attempt == 2);
  CHECK(one.status().failures == 0);
}

TEST_CASE("a job of an array that runs already is not started twice") {
  RecordedJob one(kCounted + ": > up; while [ ! -e go ]; do sleep 0.01; done");
  const pid_t runner = one.start();
  REQUIRE(wait_until([&] { return std::filesystem::exists(one.dir / "up"); }));
  CHECK_THROWS_WITH(one.run(), Contains("job 'main' of unit 1 runs already"));
  CHECK(one.status().detail == "task 7");
  one.dir.write("go", "");
  CHECK(WEXITSTATUS(wait_for_child(runner)) == 0);
  CHECK(one.runs() == "run\n");
}

TEST_CASE("a job of an array whose unit is cancelled does not start, or ends as cancelled") {
  RecordedJob one("trap 'exit 75' TERM; : > up; while :; do sleep 0.01; done");
  SECTION("before") {
    one.records().mark_cancelled(1);
    CHECK(one.run() == 143);
    CHECK_FALSE(std::filesystem::exists(one.dir / "up"));
  }
  SECTION("while it runs") {
    const pid_t runner = one.start();
    REQUIRE(wait_until([&] { return std::filesystem::exists(one.dir / "up"); }));
    one.records().mark_cancelled(1);
    ::kill(runner, SIGTERM);
    CHECK(WEXITSTATUS(wait_for_child(runner)) == 143);
  }
  CHECK(one.status().state == JobState::cancelled);
}

TEST_CASE("the result of a cluster's signal depends on the signal and the exit code") {
  struct Case {
    int signal;
    const char* exit_code;
    std::int64_t retries;
    int expected;
    JobState state;
  };
  const auto one_case = GENERATE(
      // Preempted, for any exit code.
      Case{SIGTERM, "75", 0, 75, JobState::preempted},
      Case{SIGTERM, "0", 0, 75, JobState::preempted},
      // A job that does not report that it has saved would be restarted forever.
      Case{SIGUSR1, "75", 0, 75, JobState::preempted}, Case{SIGUSR1, "0", 0, 1, JobState::failed},
      Case{SIGUSR1, "4", 0, 4, JobState::failed}, Case{SIGUSR1, "4", 1, 75, JobState::pending});
  CAPTURE(one_case.signal, one_case.exit_code, one_case.retries);
  RecordedJob one("trap 'exit " + std::string(one_case.exit_code) +
                  "' TERM; : > up; while :; do sleep 0.01; done");
  one.job().retries = one_case.retries;
  const pid_t runner = one.start();
  REQUIRE(wait_until([&] { return std::filesystem::exists(one.dir / "up"); }));
  ::kill(runner, one_case.signal);
  CHECK(WEXITSTATUS(wait_for_child(runner)) == one_case.expected);
  CHECK(one.status().state == one_case.state);
}

TEST_CASE("a job that the cluster's signal ends before its shim sees it is preempted") {
  RecordedJob one("echo $$ > pid; : > up; while :; do sleep 0.01; done");
  const pid_t runner = one.start();
  REQUIRE(wait_until([&] { return std::filesystem::exists(one.dir / "up"); }));
  const pid_t job = std::stoi(read_file(one.dir / "pid"));
  ::kill(job, SIGTERM);
  REQUIRE(wait_until([&] { return ::kill(job, 0) != 0; }));
  ::kill(runner, SIGTERM);
  CHECK(WEXITSTATUS(wait_for_child(runner)) == 75);
  CHECK(one.status().state == JobState::preempted);
}

TEST_CASE("exit code 0 does not prove success for a job that reports when it is done") {
  RecordedJob one(GENERATE(as<std::string>{}, "exit 0", ": > \"$TRIVET_DONE_FILE\"",
                           ": > \"$TRIVET_DONE_FILE\"; exit 4"));
  const std::string script = one.job().argv.back();
  one.job().tells_done = true;
  one.job().retries = 1;
  const int code = one.run();
  if (script == "exit 0") {
    CHECK(code == 1);
    CHECK(one.status().attempt == 2);
    CHECK(one.status().state == JobState::failed);
    CHECK(one.status().exit_code == 0);
    CHECK(one.status().detail == kReasonNotDone);
    CHECK_THAT(read_file(one.job().directory / "2/stderr"), Contains("before it was done"));
  } else {
    const bool is_done = script.find("exit") == std::string::npos;
    CHECK(code == (is_done ? 0 : 4));
    CHECK(one.status().state == (is_done ? JobState::completed : JobState::failed));
  }
}

TEST_CASE("a job of an array that is asked to end before its start waits for a restart") {
  RecordedJob one(kCounted + "true");
  const int signal = GENERATE(SIGTERM, SIGUSR1);
  const pid_t runner = in_child([&] {
    sigset_t held;
    ::sigemptyset(&held);
    ::sigaddset(&held, signal);
    ::sigprocmask(SIG_BLOCK, &held, nullptr);
    ::raise(signal);
    ::_exit(one.run());
  });
  CHECK(WEXITSTATUS(wait_for_child(runner)) == 75);
  CHECK(one.status().state == JobState::queued);
  CHECK(one.runs().empty());
  CHECK(one.run() == 0);
  CHECK(one.status().failures == 0);
}

TEST_CASE("a job that is signaled before it can listen has not failed") {
  RecordedJob one(": > up; while :; do sleep 0.01; done");
  const pid_t runner = one.start();
  REQUIRE(wait_until([&] { return std::filesystem::exists(one.dir / "up"); }));
  ::kill(runner, SIGUSR1);
  CHECK(WEXITSTATUS(wait_for_child(runner)) == 75);
  CHECK(one.status().state == JobState::preempted);
}

TEST_CASE("a job's own time limit is a failure with the exit code of timeout(1)") {
  RecordedJob one("trap 'exit 0' TERM; while :; do sleep 0.01; done");
  one.job().time_limit_seconds = 0.05;
  CHECK(one.run() == 124);
  CHECK(one.status().state == JobState::failed);
}

TEST_CASE("a job of an array gets the variables of its task that the array lets through") {
  ::setenv("TASK_ONE", "1", 1);
  ::setenv("TASK_TWO", "a=b c", 1);
  ::setenv("OTHER", "secret", 1);
  JobArray array;
  array.env = {{"OMP_NUM_THREADS", "4"}};
  array.pass_env = {"TASK_*", "NOT_THERE"};
  AttemptOptions options = attempt_options(array);
  std::sort(options.env.begin(), options.env.end());
  CHECK(options.env == std::vector<std::pair<std::string, std::string>>{
                           {"OMP_NUM_THREADS", "4"}, {"TASK_ONE", "1"}, {"TASK_TWO", "a=b c"}});
}

TEST_CASE("the file of an array of jobs reads back as written; other text is refused") {
  JobArray array{.experiment = "/x/1",
                 .job = "train",
                 .wids = {3, 0, 5},
                 .grace_seconds = 2.5,
                 .env = {{"A", "b\nc"}},
                 .pass_env = {"SLURM_*"}};
  const JobArray back = job_array_from(value_from_json(to_json(to_value(array)), "test"));
  CHECK(back.experiment == array.experiment);
  CHECK(back.job == array.job);
  CHECK(back.wids == array.wids);
  CHECK(back.grace_seconds == array.grace_seconds);
  CHECK(back.env == array.env);
  CHECK(back.pass_env == array.pass_env);
  for (const char* text : {"[]", "{}", R"({"experiment": "/x", "job": 7, "wids": []})"}) {
    CHECK_THROWS_AS(job_array_from(value_from_json(text, "test")), RunError);
  }
}
