// SPDX-License-Identifier: Apache-2.0
// An attempt of a job: its environment, its end, and its files after a kill.
#include "trivet/launch/attempt.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <catch2/catch.hpp>

#include "support/jobs.h"
#include "support/shell.h"
#include "trivet/error.h"
#include "trivet/os/process.h"

using namespace trivet::launch;
using namespace trivet::test;
using Catch::Contains;
using trivet::RunError;
namespace fs = std::filesystem;

namespace {

std::string out_of(const Job& job, std::int64_t attempt = 1) {
  return read_file(job.directory / std::to_string(attempt) / "stdout");
}

std::string errors_of(const Job& job, std::int64_t attempt = 1) {
  return read_file(job.directory / std::to_string(attempt) / "stderr");
}

int mode_of(const fs::path& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? static_cast<int>(info.st_mode & 0777) : -1;
}

AttemptPhase phase_of(const Job& job, std::int64_t attempt = 1) {
  return read_attempt(job, attempt).phase;
}

bool is_written(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

// The process id that a job has written.
pid_t pid_in(const fs::path& file) {
  pid_t pid = 0;
  std::ifstream(file) >> pid;
  return pid;
}

// A job that runs until it is ended, and writes `up` when it runs.
Job endless_job(const TempDir& dir, const std::string& before = {}) {
  return shell_job(dir, before + " : > up; while :; do sleep 0.01; done");
}

pid_t start_and_wait_for_up(const TempDir& dir, const Job& job,
                            const AttemptOptions& options = {}) {
  const pid_t shim = start_attempt(job, 1, options);
  REQUIRE(wait_until([&] { return is_written(dir / "up"); }));
  return shim;
}

}  // namespace

TEST_CASE("an attempt records its output and its end") {
  const TempDir dir;
  const Job job = shell_job(dir, "echo said; echo complained >&2; exit 7");
  CHECK(last_attempt(job) == 0);
  CHECK(phase_of(job) == AttemptPhase::fresh);
  const double before = trivet::unix_time();
  const AttemptInfo info = finish(job);
  CHECK(info.phase == AttemptPhase::ended);
  CHECK(info.status.state == JobState::failed);
  CHECK(info.status.exit_code == 7);
  CHECK(info.status.signal == 0);
  CHECK(info.status.attempt == 1);
  CHECK(info.status.host == trivet::host_name());
  CHECK(info.status.started >= before);
  CHECK(info.status.time >= info.status.started);
  CHECK(info.shim == 0);
  CHECK(out_of(job) == "said\n");
  CHECK(errors_of(job) == "complained\n");
  CHECK(last_attempt(job) == 1);
}

TEST_CASE("only the owner may read the files of an attempt") {
  const TempDir dir;
  const Job job = shell_job(dir, "exit 0");
  CHECK(finish(job).status.state == JobState::completed);
  CHECK(mode_of(job.directory / "1") == 0700);
  for (const char* name : {"stdout", "stderr", "started.json", "exit.json", "lock"}) {
    INFO(name);
    CHECK(mode_of(job.directory / "1" / name) == 0600);
  }
}

TEST_CASE("attempts are counted by number and kept apart") {
  const TempDir dir;
  const Job job = shell_job(dir, "echo $$");
  finish(job, 9);
  finish(job, 10);
  fs::create_directory(job.directory / "11x");
  CHECK(last_attempt(job) == 10);
  CHECK(out_of(job, 9) != out_of(job, 10));
}

TEST_CASE("arguments of a job arrive unchanged") {
  const TempDir dir;
  Job job = shell_job(dir, R"(shift; printf '%s\0' "$@")");
  const std::vector<std::string> words = {"a b",       "",          "it's \"quoted\"", "two\nlines",
                                          "grün 漢字", "$HOME `x`", "back\\slash",     "*",
                                          "\xff\xfe",  "-n"};
  job.argv.push_back("sh");
  job.argv.push_back("shifted");
  job.argv.insert(job.argv.end(), words.begin(), words.end());
  finish(job);
  std::string expected;
  for (const std::string& word : words) expected += word + '\0';
  CHECK(out_of(job) == expected);
}

TEST_CASE("a job gets variables passed through, of its location and its own") {
  ::setenv("ATTEMPT_TEST_SECRET", "x", 1);
  ::setenv("TZ", "UTC", 1);
  const TempDir dir;
  Job job = shell_job(dir, "");
  job.argv = {"/usr/bin/env", "-0"};
  job.env = {{"OWN", "two\nlines"}, {"TMPDIR", "/own"}, {"PLACE", "mine"}};
  finish(job, 1, {.env = {{"PLACE", "theirs"}, {"GPU", "0,1"}}});
  const std::string all = std::string(1, '\0') + out_of(job);
  const auto has = [&](const std::string& entry) {
    return all.find('\0' + entry + '\0') != std::string::npos;
  };
  CHECK(has("OWN=two\nlines"));
  CHECK(has("TMPDIR=/own"));
  CHECK(has("PLACE=mine"));
  CHECK(has("GPU=0,1"));
  CHECK(has("TZ=UTC"));
  CHECK(has(std::string("PATH=") + std::getenv("PATH")));
  CHECK_THAT(all, !Contains("ATTEMPT_TEST_SECRET"));
  CHECK_THAT(all, !Contains("PLACE=theirs"));
  ::unsetenv("ATTEMPT_TEST_SECRET");
}

TEST_CASE("a job starts in its directory, with standard files and standard signals only") {
  const TempDir dir;
  const int open_file = ::open("/dev/null", O_RDONLY);
  ::signal(SIGPIPE, SIG_IGN);
  Job job = shell_job(dir, "pwd; ls /proc/self/fd | tr '\\n' ' '; grep SigIgn /proc/self/status");
  fs::create_directory(dir / "with space");
  job.working_directory = dir / "with space";
  job.directory = dir / "also here/jobs/main";
  finish(job);
  ::signal(SIGPIPE, SIG_DFL);
  ::close(open_file);
  // 3 is the directory that ls reads.
  CHECK(out_of(job) == job.working_directory.string() + "\n0 1 2 3 SigIgn:\t0000000000000000\n");
}

TEST_CASE("a job runs on its assigned cores") {
  cpu_set_t usable;
  REQUIRE(::sched_getaffinity(0, sizeof usable, &usable) == 0);
  int last = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &usable)) last = cpu;
  }
  const TempDir dir;
  const Job job = shell_job(dir, "grep Cpus_allowed_list /proc/self/status");
  finish(job, 1, {.cpus = {last}});
  CHECK(out_of(job) == "Cpus_allowed_list:\t" + std::to_string(last) + "\n");
}

TEST_CASE("a program that cannot start is a failed attempt with the reason") {
  const TempDir dir;
  Job job = shell_job(dir, "");
  std::string reason;
  const std::string how =
      GENERATE(as<std::string>{}, "it is not there", "it is no program", "its directory is gone");
  INFO(how);
  if (how == "it is not there") {
    job.argv = {"/no/such/program"};
    reason = "cannot start /no/such/program: No such file or directory";
  }
  if (how == "it is no program") {
    const fs::path file = dir.write("text", "hello");
    job.argv = {file.string()};
    reason = "cannot start " + file.string() + ": Permission denied";
  }
  if (how == "its directory is gone") {
    job.working_directory = "/no/such/location";
    reason = "cannot change to the working directory of /bin/sh: No such file or directory";
  }
  const AttemptInfo info = finish(job);
  CHECK(info.phase == AttemptPhase::ended);
  CHECK(info.status.state == JobState::failed);
  CHECK(info.status.exit_code == 127);
  CHECK(info.status.detail == reason);
  CHECK(errors_of(job) == "trivet: " + reason + "\n");
}

TEST_CASE("a job that is killed shows the signal") {
  const TempDir dir;
  const AttemptInfo info = finish(shell_job(dir, "kill -KILL $$"));
  CHECK(info.status.state == JobState::failed);
  CHECK_FALSE(info.status.exit_code.has_value());
  CHECK(info.status.signal == SIGKILL);
}

TEST_CASE("a job out of time may save, and fails with any exit code") {
  const TempDir dir;
  Job job = endless_job(dir, "trap 'echo saved; exit 75' TERM;");
  job.time_limit_seconds = 1;  // by then the shell has set its trap
  const AttemptInfo info = finish(job);
  CHECK(info.status.state == JobState::failed);
  CHECK(info.status.exit_code == 75);
  CHECK(info.status.detail == "time limit");
  CHECK(out_of(job) == "saved\n");
}

TEST_CASE("a job that does not care about the end of its time is killed after the grace") {
  const TempDir dir;
  Job job = endless_job(dir, "trap '' TERM;");
  job.time_limit_seconds = 1;  // by then the shell has set its trap
  const AttemptInfo info = finish(job, 1, {.grace_seconds = 0.05});
  CHECK(info.status.state == JobState::failed);
  CHECK(info.status.signal == SIGKILL);
  CHECK(info.status.detail == "time limit");
}

TEST_CASE("an attempt ends on request, with the given reason") {
  const TempDir dir;
  const Job job = endless_job(dir, "trap 'exit 0' TERM;");
  const pid_t shim = start_and_wait_for_up(dir, job);
  // From another process, like `trivet cancel`.
  SECTION("cancelled") {
    const pid_t asks = in_child([&] { end_attempt(job, 1, "cancelled", 30); });
    CHECK(wait_for_child(asks) == 0);
    wait_for_child(shim);
    CHECK(read_attempt(job, 1).status.state == JobState::cancelled);
    CHECK(read_attempt(job, 1).status.detail == "cancelled");
  }
  SECTION("preempted") {
    const pid_t asks = in_child([&] { end_attempt(job, 1, "preempted", 30); });
    CHECK(wait_for_child(asks) == 0);
    wait_for_child(shim);
    CHECK(read_attempt(job, 1).status.state == JobState::preempted);
  }
  CHECK(read_attempt(job, 1).status.exit_code == 0);
  // Again, for an ended attempt.
  end_attempt(job, 1, "other", 0);
  CHECK(read_attempt(job, 1).status.detail != "other");
}

TEST_CASE("a second request to end may allow less time") {
  const TempDir dir;
  const Job job = endless_job(dir, "trap ': > asked' TERM;");
  const pid_t shim = start_and_wait_for_up(dir, job);
  end_attempt(job, 1, "cancelled", 1e6);
  REQUIRE(wait_until([&] { return is_written(dir / "asked"); }));
  CHECK(phase_of(job) == AttemptPhase::running);
  end_attempt(job, 1, "preempted", 0);
  wait_for_child(shim);
  const JobStatus status = read_attempt(job, 1).status;
  CHECK(status.signal == SIGKILL);
  CHECK(status.state == JobState::cancelled);
}

TEST_CASE("a request to end before the job started is seen") {
  const TempDir dir;
  const Job job = endless_job(dir);
  const pid_t shim = start_attempt(job, 1);
  REQUIRE(wait_until([&] { return phase_of(job) == AttemptPhase::running; }));
  end_attempt(job, 1, "cancelled", 30);
  wait_for_child(shim);
  CHECK(read_attempt(job, 1).status.state == JobState::cancelled);
}

TEST_CASE("a shim passes SIGTERM on to all of the job's processes") {
  const TempDir dir;
  const Job job = shell_job(dir, R"(
    sh -c 'trap "echo child >> said; exit" TERM; : > ready; while :; do sleep 0.01; done' &
    trap 'wait; echo first >> said; exit 75' TERM
    while [ ! -e ready ]; do sleep 0.01; done; : > up
    while :; do sleep 0.01; done)");
  const pid_t shim = start_and_wait_for_up(dir, job);
  ::kill(shim, SIGTERM);
  wait_for_child(shim);
  const JobStatus status = read_attempt(job, 1).status;
  CHECK(status.state == JobState::preempted);
  CHECK(status.detail.empty());
  CHECK(read_file(dir / "said") == "child\nfirst\n");
}

TEST_CASE("leftover processes of a job are killed in any session") {
  const TempDir dir;
  const Job job = shell_job(dir, R"(
    sleep 1000 & echo $! > same
    setsid sh -c 'echo $$ > other; exec sleep 1000' &
    while [ ! -s other ]; do sleep 0.01; done)");
  CHECK(finish(job).status.state == JobState::completed);
  CHECK(trivet::start_ticks(pid_in(dir / "same")) == 0);
  CHECK(trivet::start_ticks(pid_in(dir / "other")) == 0);
}

TEST_CASE("an attempt continues when its starting process is killed, and never looks lost") {
  const TempDir dir;
  const Job job = shell_job(dir, ": > up; while [ ! -e go ]; do sleep 0.01; done; echo done");
  const pid_t starter = in_child([&] {
    start_attempt(job, 1);
    ::kill(::getpid(), SIGKILL);
  });
  bool was_lost = false;
  REQUIRE(wait_until([&] {
    was_lost = was_lost || phase_of(job) == AttemptPhase::lost;
    return is_written(dir / "up");
  }));
  wait_for_child(starter);
  CHECK(phase_of(job) == AttemptPhase::running);
  const pid_t shim = read_attempt(job, 1).shim;
  CHECK(trivet::start_ticks(shim) != 0);
  dir.write("go", "");
  REQUIRE(wait_until([&] {
    was_lost = was_lost || phase_of(job) == AttemptPhase::lost;
    return phase_of(job) == AttemptPhase::ended;
  }));
  CHECK_FALSE(was_lost);
  CHECK(out_of(job) == "done\n");
}

TEST_CASE("an attempt whose shim is killed is lost, and its job is gone") {
  const TempDir dir;
  const Job job = endless_job(dir, "echo $$ > pid;");
  const pid_t shim = start_and_wait_for_up(dir, job);
  CHECK(read_attempt(job, 1).shim == shim);
  CHECK(read_attempt(job, 1).process == pid_in(dir / "pid"));
  ::kill(shim, SIGKILL);
  wait_for_child(shim);
  const AttemptInfo info = read_attempt(job, 1);
  CHECK(info.phase == AttemptPhase::lost);
  CHECK(info.status.state == JobState::lost);
  CHECK(info.status.started > 0);
  CHECK(wait_until([&] { return trivet::start_ticks(pid_in(dir / "pid")) == 0; }));
}

TEST_CASE("an attempt is made once") {
  const TempDir dir;
  const Job job = endless_job(dir);
  const pid_t shim = start_and_wait_for_up(dir, job);
  CHECK_THROWS_WITH(start_attempt(job, 1), Contains("runs already"));
  end_attempt(job, 1, "cancelled", 30);
  wait_for_child(shim);
  CHECK_THROWS_WITH(start_attempt(job, 1), Contains("was used before"));
  CHECK_THROWS_AS(run_attempt(job, 1), RunError);
}

TEST_CASE("a start that was killed before the job started is repeated") {
  const TempDir dir;
  const Job job = shell_job(dir, "echo done");
  dir.write("jobs/main/1/lock", "");
  dir.write("jobs/main/1/end.json", R"({"reason": "cancelled", "grace_seconds": 0})");
  dir.write("jobs/main/1/started.json.tmp", "{");
  CHECK(phase_of(job) == AttemptPhase::fresh);
  CHECK(finish(job).status.state == JobState::completed);
}

TEST_CASE("files that a crash of the machine has damaged count as missing") {
  const TempDir dir;
  const Job job = shell_job(dir, "exit 0");
  REQUIRE(finish(job).phase == AttemptPhase::ended);
  const fs::path attempt = job.directory / "1";
  const std::string content = GENERATE("", "{\"exit_c", "[]", "\0\0\0\0");
  dir.write("jobs/main/1/exit.json", content);
  CHECK(phase_of(job) == AttemptPhase::lost);
  dir.write("jobs/main/1/started.json", content);
  CHECK(phase_of(job) == AttemptPhase::fresh);
}

TEST_CASE("an attempt of before the machine's last start was lost with it") {
  const TempDir dir;
  const Job job = endless_job(dir);
  dir.write("jobs/main/1/started.json",
            R"({"pid": 1, "start_ticks": 1, "shim": 1, "shim_ticks": 1, "boot_id": "other",
                "host": ")" +
                trivet::host_name() + R"(", "time": 5})");
  const AttemptInfo info = read_attempt(job, 1);
  CHECK(info.phase == AttemptPhase::lost);
  CHECK(info.shim == 0);
  CHECK_THAT(info.status.detail, Contains("was restarted"));
  // Process 1 is another one now.
  end_attempt(job, 1, "cancelled", 0);
}

TEST_CASE("an attempt without a possible directory is refused with its path") {
  const TempDir dir;
  Job job = shell_job(dir, "exit 0");
  dir.write("jobs", "a file");
  CHECK_THROWS_WITH(start_attempt(job, 1), Contains("jobs/main") && Contains("Not a directory"));
  job.directory = dir.path() / std::string(300, 'x');
  CHECK_THROWS_WITH(start_attempt(job, 1), Contains("File name too long"));
}

TEST_CASE("an attempt in this process returns the exit code to end with") {
  const TempDir dir;
  CHECK(run_attempt(shell_job(dir, "exit 3", "three"), 1) == 3);
  CHECK(run_attempt(shell_job(dir, "kill -TERM $$", "term"), 1) == 128 + SIGTERM);
  Job job = shell_job(dir, "", "none");
  job.argv = {"/no/such/program"};
  CHECK(run_attempt(job, 1) == 127);
}

TEST_CASE("an attempt in this process passes signals on") {
  const TempDir dir;
  const int signal = GENERATE(SIGTERM, SIGINT, SIGUSR1);
  const std::string name = signal == SIGTERM ? "TERM" : signal == SIGINT ? "INT" : "USR1";
  const Job job = endless_job(dir, "trap 'exit 75' " + name + ";");
  const pid_t runs = in_child([&] { ::_exit(run_attempt(job, 1)); });
  REQUIRE(wait_until([&] { return is_written(dir / "up"); }));
  ::kill(runs, signal);
  const int status = wait_for_child(runs);
  CHECK(WEXITSTATUS(status) == 75);
  CHECK(read_attempt(job, 1).status.state == JobState::preempted);
}

TEST_CASE("the state of a job after an attempt") {
  struct Case {
    const char* what;
    JobStatus attempt;
    std::int64_t failures_before;
    JobState state;
    std::int64_t failures;
  };
  const auto ended = [](JobState state, int exit_code) {
    return JobStatus{.state = state, .attempt = 4, .exit_code = exit_code};
  };
  const Case cases[] = {
      {"completed", ended(JobState::completed, 0), 1, JobState::completed, 1},
      {"failed, one retry left", ended(JobState::failed, 1), 1, JobState::pending, 2},
      {"failed, none left", ended(JobState::failed, 1), 2, JobState::failed, 3},
      {"a wrong config", ended(JobState::failed, 2), 0, JobState::failed, 1},
      {"a plugin that cannot be used", ended(JobState::failed, 3), 0, JobState::failed, 1},
      {"preempted, none left", ended(JobState::preempted, 75), 2, JobState::preempted, 2},
      {"cancelled", ended(JobState::cancelled, 0), 0, JobState::cancelled, 0},
      {"lost, one left", {.state = JobState::lost, .attempt = 4}, 0, JobState::pending, 1},
      {"lost, none left", {.state = JobState::lost, .attempt = 4}, 2, JobState::lost, 3},
  };
  Job job;
  job.retries = 2;
  for (const Case& c : cases) {
    INFO(c.what);
    const JobStatus after = after_attempt(job, {.failures = c.failures_before}, c.attempt);
    CHECK(after.state == c.state);
    CHECK(after.failures == c.failures);
    CHECK(after.attempt == 4);
  }
}
