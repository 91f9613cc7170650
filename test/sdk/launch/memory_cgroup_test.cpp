// SPDX-License-Identifier: Apache-2.0
// Cgroups that limit memory, alone and for attempts. Directories with the kernel's files simulate
// both versions here, so that every machine tests both; test/plugins/local/memory_test.cpp uses
// real ones.
#include "trivet/launch/memory_cgroup.h"

#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>

#include <catch2/catch.hpp>

#include "support/jobs.h"
#include "support/shell.h"
#include "trivet/error.h"
#include "trivet/os/process.h"

using namespace trivet::launch;
using namespace trivet::test;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

constexpr std::int64_t kMebi = 1 << 20;

// A fake parent of cgroups.
struct FakeParent {
  explicit FakeParent(int version) {
    fs::create_directory(path);
    if (version == 2) dir.write("cg/cgroup.controllers", "cpu memory pids\n");
  }
  std::string text(const std::string& file) const {
    for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
      if (entry.is_directory()) return read_file(entry.path() / file);
    }
    return "there is no cgroup";
  }
  AttemptOptions options() const { return {.cgroup_parent = path}; }

  TempDir dir;
  fs::path path = dir / "cg";
};

// The job runs in the directory of the parent and finds its cgroup as $G.
Job limited_job(const FakeParent& parent, const std::string& script) {
  Job job = shell_job(parent.dir, "G=$(echo cg/trivet-*); " + script);
  job.memory_bytes = 64 * kMebi;
  return job;
}

// The kernel's files after it reached the limit and killed.
const std::string kKilledV2 = "printf 'low 0\\nmax 9\\noom 1\\noom_kill 1\\n' > $G/memory.events; ";
const std::string kKilledV1 =
    "echo 67000000 > $G/memory.memsw.max_usage_in_bytes; "
    "printf 'oom_kill_disable 0\\nunder_oom 0\\noom_kill 1\\n' > $G/memory.oom_control; ";

}  // namespace

TEST_CASE("a cgroup has its limit, and ends as a whole, before a process enters it") {
  const FakeParent v2(2);
  const MemoryCgroup group(v2.path, 64 * kMebi);
  CHECK(group.path().parent_path() == v2.path);
  CHECK(v2.text("memory.max") == "67108864");
  CHECK(v2.text("memory.swap.max") == "0");
  CHECK(v2.text("memory.oom.group") == "1");
  CHECK(group.kills_all());
  CHECK_FALSE(group.has_killed());
  CHECK_FALSE(fs::exists(group.path() / "memory.limit_in_bytes"));
  const FakeParent v1(1);
  const MemoryCgroup old(v1.path, 64 * kMebi);
  CHECK(v1.text("memory.limit_in_bytes") == "67108864");
  CHECK(v1.text("memory.memsw.limit_in_bytes") == "67108864");
  CHECK_FALSE(old.kills_all());
  CHECK_FALSE(fs::exists(old.path() / "memory.max"));
}

TEST_CASE("no limit is too low for a program to start") {
  const FakeParent parent(2);
  const MemoryCgroup group(parent.path, 1);
  CHECK(group.limit_bytes() == MemoryCgroup::kLeastBytes);
  CHECK(parent.text("memory.max") == "16777216");
}

TEST_CASE("a cgroup that cannot be made is refused with its path, and leaves nothing") {
  const TempDir dir;
  CHECK_THROWS_WITH(MemoryCgroup(dir / "none", 64 * kMebi),
                    Contains("none/trivet-") && Contains("No such file or directory"));
  const FakeParent parent(2);
  const MemoryCgroup first(parent.path, 64 * kMebi);
  CHECK_THROWS_WITH(MemoryCgroup(parent.path, 64 * kMebi), Contains("File exists"));
  CHECK(fs::exists(first.path()));
}

TEST_CASE("an attempt that the kernel kills for its memory fails with that reason") {
  const int version = GENERATE(1, 2);
  const FakeParent parent(version);
  const std::string end = GENERATE("kill -KILL $$", "exit 0", "exit 75");
  INFO("v" << version << ", " << end);
  const Job job = limited_job(parent, (version == 2 ? kKilledV2 : kKilledV1) + end);
  const AttemptInfo info = finish(job, 1, parent.options());
  CHECK(info.phase == AttemptPhase::ended);
  CHECK(info.status.state == JobState::failed);
  CHECK(info.status.detail == "memory limit of 64 MiB");
  CHECK(parent.text("cgroup.procs") == "0");
}

TEST_CASE("an attempt that loses one process to its limit is ended with the others") {
  const FakeParent parent(1);
  Job job = limited_job(parent, "trap '' TERM; " + kKilledV1 + "while :; do sleep 0.01; done");
  // In case nothing else ends it.
  job.time_limit_seconds = 60;
  AttemptOptions options = parent.options();
  options.grace_seconds = 0;
  const AttemptInfo info = finish(job, 1, options);
  CHECK(info.status.state == JobState::failed);
  CHECK(info.status.signal == SIGKILL);
  CHECK(info.status.detail == "memory limit of 64 MiB");
}

TEST_CASE("a kill of the kernel's that the limit did not ask for is not the limit's") {
  struct Case {
    int version;
    const char* files;
  };
  const auto [version, files] = GENERATE(values<Case>({
      {2, "printf 'oom 0\\noom_kill 1\\n' > $G/memory.events; "},
      {2, "printf 'oom 1\\noom_kill 0\\n' > $G/memory.events; "},
      {2, ""},
      {1,
       "echo 60000000 > $G/memory.max_usage_in_bytes; echo oom_kill 1 > $G/memory.oom_control; "},
      {1,
       "echo 67108864 > $G/memory.max_usage_in_bytes; echo oom_kill 0 > $G/memory.oom_control; "},
  }));
  INFO("v" << version << ", " << files);
  const FakeParent parent(version);
  const Job job = limited_job(parent, std::string(files) + "kill -KILL $$");
  const AttemptInfo info = finish(job, 1, parent.options());
  CHECK(info.status.state == JobState::failed);
  CHECK(info.status.signal == SIGKILL);
  CHECK(info.status.detail.empty());
}

TEST_CASE("an attempt ended on request has that reason, for any memory") {
  const FakeParent parent(2);
  const Job job = limited_job(parent, kKilledV2 + ": > up; while :; do sleep 0.01; done");
  const pid_t shim = start_attempt(job, 1, parent.options());
  REQUIRE(wait_until([&] { return fs::exists(parent.dir / "up"); }));
  end_attempt(job, 1, kReasonCancelled, 30);
  wait_for_child(shim);
  CHECK(read_attempt(job, 1).status.state == JobState::cancelled);
}

TEST_CASE("an attempt whose cgroup cannot be made runs without one") {
  const TempDir dir;
  Job job = shell_job(dir, "echo done");
  job.memory_bytes = 64 * kMebi;
  const AttemptInfo info = finish(job, 1, {.cgroup_parent = dir / "none"});
  CHECK(info.status.state == JobState::completed);
  CHECK(read_file(job.directory / "1/stdout") == "done\n");
  CHECK_THAT(read_file(job.directory / "1/stderr"),
             Contains("nothing limits the memory of this job: cannot make cgroup") &&
                 Contains("No such file or directory"));
}

TEST_CASE("a job that declares no memory has no cgroup") {
  const FakeParent parent(2);
  Job job = limited_job(parent, "ls cg");
  job.memory_bytes = 0;
  CHECK(finish(job, 1, parent.options()).status.state == JobState::completed);
  CHECK(read_file(job.directory / "1/stdout") == "cgroup.controllers\n");
}

TEST_CASE("leftover cgroups of killed processes are removed, and nothing else") {
  const FakeParent parent(2);
  const std::string self = std::to_string(::getpid());
  const std::string ticks = std::to_string(trivet::start_ticks(::getpid()));
  for (const std::string& name : {"trivet-" + self + "-1", "trivet-" + self + "-1/inner/most"}) {
    fs::create_directories(parent.path / name);
  }
  const std::string kept[] = {
      "trivet-" + self + "-" + ticks, "trivet-", "trivet-1",    "trivet-1-x",
      "trivet-" + self + "-1-1",      "other",   "x-trivet-1-1"};
  for (const std::string& name : kept) fs::create_directory(parent.path / name);
  remove_leftover_cgroups(parent.path);
  CHECK_FALSE(fs::exists(parent.path / ("trivet-" + self + "-1")));
  for (const std::string& name : kept) {
    INFO(name);
    CHECK(fs::exists(parent.path / name));
  }
  remove_leftover_cgroups(parent.path / "none");
}
