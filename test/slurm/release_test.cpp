// SPDX-License-Identifier: Apache-2.0
// Jobs that Slurm could not start on their nodes, and holds.
#include <algorithm>
#include <filesystem>
#include <string>

#include <catch2/catch.hpp>

#include "fake_slurm.h"
#include "slurm_experiments.h"

using namespace trivet::test;
using Catch::Contains;
namespace fs = std::filesystem;

TEST_CASE("slurm: jobs that wait for a failed job are removed from the queue") {
  const FakeExperiments fake;
  REQUIRE(fake.launch().exit_code == 0);
  REQUIRE(fake.at.trivet("job " + quoted((fake.at.root / "1/slurm/1/array.json").string()) + " 0")
              .exit_code == 0);
  const std::string name = fake.slurm.name();
  fake.slurm.folder.write("queue", "7|0|PENDING|launch failed requeued held||" + name +
                                       "\n7|1|PENDING|Priority||" + name + "\n");
  CHECK(fake.at.state(1) == "completed");
  CHECK(fake.at.state(2) == "queued");
  CHECK(read_file(fake.slurm.file("scancelled")) == "7_0\n");
}

TEST_CASE("slurm: jobs that a node could not start run once it is repaired", "[slow]") {
  if (!has_slurm()) return;
  // A prolog that fails drains its node, and Slurm holds the job.
  const TempDir folder;
  const fs::path prolog =
      folder.write("prolog", "#!/bin/sh\n[ -e " + (folder / "repaired").string() + " ]\n");
  fs::permissions(prolog, fs::perms::owner_all);
  const SlurmCluster broken(1, 2, "Prolog=" + prolog.string() + "\n");
  const Experiments at("type = 'slurm/Orchestrator'\n", broken.settings());
  REQUIRE(at.launch("echo run >> $0/ran", 2).exit_code == 0);
  const auto reasons = [&] { return broken.command("squeue -h -a -r -o %r").output; };
  const std::string held = "launch failed requeued held\n";
  REQUIRE(comes_true([&] { return reasons() == held + held; }, 60));
  folder.write("repaired", "");
  REQUIRE(broken.command("scontrol update nodename=n1 state=resume").exit_code == 0);
  CHECK(comes_true([&] { return at.all_are("completed"); }, 60));
  CHECK(read_file(at.unit_file(1, "ran")) == "run\n");
  CHECK(read_file(at.unit_file(2, "ran")) == "run\n");
}

TEST_CASE("slurm: a job that Slurm could not start is released, up to five times") {
  const FakeExperiments fake;
  const auto held_on = [&](const std::string& task, const std::string& reason) {
    return "7|" + task + "|PENDING|" + reason + "||" + fake.slurm.name() + "\\n";
  };
  REQUIRE(fake.launch().exit_code == 0);
  const std::string held = held_on("0", "launch failed requeued held") + held_on("1", "Priority");
  const auto fail_start = [&] {
    fake.slurm.set("hold", "printf '" + held + "' > " + fake.slurm.file("queue"));
    REQUIRE(shell(quoted(fake.slurm.file("hold"))).exit_code == 0);
  };
  const auto released = [&] {
    const std::string file = fake.slurm.file("released");
    return fs::exists(file) ? read_file(file) : std::string();
  };
  fake.slurm.set("scontrol",
                 "case $1 in ping) echo 'Slurmctld(primary) at c is UP';; release) "
                 "echo $2 >> " +
                     fake.slurm.file("released") + "; printf '" + held_on("0", "None") +
                     held_on("1", "Priority") + "' > " + fake.slurm.file("queue") + ";; esac");
  std::string expected;
  for (int release = 1; release <= 5; ++release) {
    fail_start();
    CHECK(fake.at.all_are("queued"));
    expected += "7_0\n";
    CHECK(released() == expected);
  }
  const std::string times = read_file(fake.at.root / "1/slurm/1/0.released");
  CHECK(std::count(times.begin(), times.end(), '\n') == 5);
  fail_start();
  CHECK(fake.at.state(1) == "lost");
  CHECK(fake.at.state(2) == "queued");
  CHECK(released() == expected);
}

TEST_CASE("slurm: a job whose unit is cancelled is not released") {
  const FakeExperiments fake;
  REQUIRE(fake.at.launch("true", 1).exit_code == 0);
  fake.set_queue("PENDING");
  REQUIRE(fake.at.trivet("cancel 1").exit_code == 0);
  fake.slurm.folder.write("queue",
                          "7|0|PENDING|launch failed requeued held||" + fake.slurm.name() + "\n");
  fake.slurm.set("scontrol",
                 "case $1 in ping) echo 'Slurmctld(primary) at c is UP';; release) "
                 "echo $2 >> " +
                     fake.slurm.file("released") + ";; esac");
  CHECK(fake.at.state(1) == "cancelled");
  CHECK_FALSE(fs::exists(fake.slurm.file("released")));
}

TEST_CASE("slurm: a job that Slurm does not release is lost and can be resumed", "[slow]") {
  const FakeExperiments fake;
  REQUIRE(fake.at.launch("true", 1).exit_code == 0);
  const auto held = [&](const std::string& reason) {
    fake.slurm.folder.write("queue", "7|0|PENDING|" + reason + "||" + fake.slurm.name() + "\n");
  };
  // A user may release it, or it waits in the queue.
  for (const char* reason : {"JobHeldUser", "Priority"}) {
    held(reason);
    CHECK(fake.at.state(1) == "queued");
  }
  held(GENERATE("launch failed requeued held", "launch_failed_requeued_held"));
  const ShellResult status = fake.at.trivet("status 1");
  CHECK_THAT(status.output, Contains("1 lost") && Contains("Slurm job 7_0: launch") &&
                                Contains("trivet resume 1"));
  CHECK(read_file(fake.slurm.file("scancelled")) == "7_0\n");
  const std::ptrdiff_t before = fake.slurm.calls();
  CHECK(fake.at.trivet("resume 1").exit_code == 0);
  CHECK(fake.slurm.calls() == before + 1);
}
