// SPDX-License-Identifier: Apache-2.0
// Jobs that exceed their declared memory, in real cgroups. If this machine allows none, the tests
// warn and check the fallback.
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>

#include <catch2/catch.hpp>

#include "experiment.h"
#include "local/cgroup_location.h"
#include "trivet/launch/attempt.h"
#include "trivet/os/process.h"

namespace local_memory_test {

using namespace trivet;
using namespace trivet::launch;
using namespace trivet::test;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

constexpr std::int64_t kLimit = 32 << 20;
// tail keeps a line, and this one has no end.
const std::string kTakesTooMuch = "head -c 200m /dev/zero | tail > /dev/null; ";
const std::string kUntilGo = ": > up; while [ ! -e go ]; do sleep 0.01; done; ";
// Writes the job's cgroup: "NUMBER:memory:/PATH" or "0::/PATH".
const std::string kWhere = "cat /proc/self/cgroup > where; ";

// Called once, since the call also cleans up.
const local::CgroupLocation& location() {
  static const local::CgroupLocation found = local::cgroup_location();
  return found;
}

bool has_cgroups() {
  if (!location().parent.empty()) return true;
  WARN("no real cgroups are tested: " << location().why_not);
  CHECK_FALSE(location().why_not.empty());
  return false;
}

struct LimitedExperiment : LocalExperiment {
  explicit LimitedExperiment(std::vector<std::string> scripts)
      : LocalExperiment(std::move(scripts)) {
    for (WorkUnit& unit : units) unit.jobs[0].memory_bytes = kLimit;
  }
  // The directory of the cgroup that the job reported; empty if it had none of its own.
  fs::path cgroup() const {
    const std::string where = text("where");
    const std::size_t name = where.find("/trivet-");
    if (name == std::string::npos) return {};
    return location().parent / where.substr(name + 1, where.find('\n', name) - name - 1);
  }
};

}  // namespace

TEST_CASE("local: a job that exceeds its declared memory fails, after its retries") {
  if (!has_cgroups()) return;
  LimitedExperiment experiment(
      {kWhere + "echo run >> runs; " + kTakesTooMuch + "exit 137", "echo other >> log"});
  experiment.units[0].jobs[0].retries = 1;
  experiment.supervise();
  CHECK(experiment.state(1) == JobState::failed);
  CHECK(experiment.status(1).detail == "memory limit of 32 MiB");
  CHECK(experiment.status(1).failures == 2);
  CHECK(experiment.text("runs") == "run\nrun\n");
  CHECK(experiment.state(2) == JobState::completed);
  CHECK(experiment.text("log") == "other\n");
  REQUIRE_FALSE(experiment.cgroup().empty());
  CHECK_FALSE(fs::exists(experiment.cgroup()));
}

TEST_CASE("local: a job with one process that exceeds the memory ends as a whole") {
  if (!has_cgroups()) return;
  LimitedExperiment experiment({"trap '' TERM; " + kTakesTooMuch + "while :; do sleep 0.01; done"});
  // In case nothing else ends it.
  experiment.units[0].jobs[0].time_limit_seconds = 60;
  experiment.config.grace = 0;
  experiment.supervise();
  CHECK(experiment.state(1) == JobState::failed);
  CHECK(experiment.status(1).signal == SIGKILL);
  CHECK(experiment.status(1).detail == "memory limit of 32 MiB");
}

TEST_CASE("local: a job below its limit has its own cgroup, its shim does not") {
  if (!has_cgroups()) return;
  LimitedExperiment experiment(
      {kWhere + "cat /proc/$PPID/cgroup > shim; head -c 4m /dev/zero | tail > /dev/null"});
  experiment.supervise();
  CHECK(experiment.state(1) == JobState::completed);
  CHECK(experiment.status(1).detail.empty());
  REQUIRE_FALSE(experiment.cgroup().empty());
  CHECK_FALSE(fs::exists(experiment.cgroup()));
  CHECK_THAT(experiment.text("shim"), !Contains("trivet-"));
}

TEST_CASE("local: without cgroups, and without a declared limit, no job is killed") {
  LimitedExperiment experiment({kWhere + kTakesTooMuch + "echo done"});
  if (GENERATE(true, false)) {
    experiment.config.cgroups = false;
  } else {
    experiment.units[0].jobs[0].memory_bytes = 0;
  }
  experiment.supervise();
  CHECK(experiment.state(1) == JobState::completed);
  CHECK(experiment.cgroup().empty());
}

TEST_CASE("local: cancelling and the time limit end a job in a cgroup as any other") {
  if (!has_cgroups()) return;
  LimitedExperiment experiment({kWhere + kUntilGo});
  const bool is_cancelled = GENERATE(true, false);
  if (!is_cancelled) experiment.units[0].jobs[0].time_limit_seconds = 0.05;
  const pid_t supervisor = experiment.start_supervisor();
  if (is_cancelled) {
    REQUIRE(wait_until([&] { return experiment.has("up"); }));
    experiment.records().mark_cancelled(1);
  }
  CHECK(wait_for_child(supervisor) == 0);
  CHECK(experiment.state(1) == (is_cancelled ? JobState::cancelled : JobState::failed));
  CHECK(experiment.status(1).signal == SIGTERM);
  CHECK(experiment.status(1).detail == (is_cancelled ? kReasonCancelled : kReasonTimeLimit));
  if (experiment.has("where")) CHECK_FALSE(fs::exists(experiment.cgroup()));
}

TEST_CASE("local: the limit holds without a supervisor, and the next one reports it") {
  if (!has_cgroups()) return;
  LimitedExperiment experiment({kWhere + kUntilGo + kTakesTooMuch + "exit 137"});
  const pid_t supervisor = experiment.start_supervisor();
  REQUIRE(wait_until([&] { return experiment.has("up"); }));
  ::kill(supervisor, SIGKILL);
  wait_for_child(supervisor);
  experiment.supervise([&] {
    experiment.dir.write("go", "");
    return false;
  });
  CHECK(experiment.state(1) == JobState::failed);
  CHECK(experiment.status(1).attempt == 1);
  CHECK(experiment.status(1).detail == "memory limit of 32 MiB");
  CHECK_FALSE(fs::exists(experiment.cgroup()));
}

TEST_CASE("local: the next supervisor removes what a killed shim left") {
  if (!has_cgroups()) return;
  LimitedExperiment experiment({kWhere + kUntilGo});
  const pid_t supervisor = experiment.start_supervisor();
  REQUIRE(wait_until([&] { return experiment.has("up"); }));
  const AttemptInfo info = read_attempt(experiment.units[0].jobs[0], 1);
  for (const pid_t process : {supervisor, info.shim}) ::kill(process, SIGKILL);
  wait_for_child(supervisor);
  const fs::path left = experiment.cgroup();
  CHECK(fs::exists(left));
  REQUIRE(wait_until([&] { return read_file(left / "cgroup.procs").empty(); }));
  experiment.supervise();
  CHECK(experiment.state(1) == JobState::lost);
  CHECK_THAT(experiment.status(1).detail, !Contains("memory"));
  CHECK_FALSE(fs::exists(left));
}

TEST_CASE("local: without permission for cgroups, jobs run and the supervisor reports it once") {
  LimitedExperiment experiment({"echo one >> log", "echo two >> log"});
  experiment.config.max_parallel = 1;
  constexpr uid_t kNobody = 65534;
  const bool is_root = ::geteuid() == 0;
  if (!is_root && has_cgroups()) return;
  const pid_t supervisor = in_child([&] {
    const int log = ::open((experiment.dir / "supervisor.log").c_str(), O_WRONLY | O_CREAT, 0600);
    ::dup2(log, 2);
    if (is_root && (::chown(experiment.dir.path().c_str(), kNobody, kNobody) != 0 ||
                    ::setresuid(kNobody, kNobody, kNobody) != 0)) {
      throw RunError("cannot become another user");
    }
    experiment.supervise();
  });
  CHECK(wait_for_child(supervisor) == 0);
  CHECK(experiment.text("log") == "one\ntwo\n");
  const std::string said = experiment.text("supervisor.log");
  CHECK_THAT(said, Contains("the memory that jobs declare is counted, not enforced: "));
  CHECK(said.find("enforced") == said.rfind("enforced"));
  CHECK(read_file(experiment.units[0].jobs[0].directory / "1/stderr").empty());
}

}  // namespace local_memory_test
