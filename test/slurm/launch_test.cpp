// SPDX-License-Identifier: Apache-2.0
// Experiments on a real Slurm from end to end: launched, listed, cancelled, retried.
#include <filesystem>
#include <string>

#include <catch2/catch.hpp>

#include "slurm_experiments.h"
#include "support/paths.h"

using namespace trivet::test;
using Catch::Contains;
using Json = nlohmann::json;
namespace fs = std::filesystem;

namespace {

constexpr const char* kUntilGo = ": > $0/up; while [ ! -e $0/../go ]; do sleep 0.1; done";

std::size_t submissions(const Experiments& at) {
  std::size_t count = 0;
  for (const auto& entry : fs::directory_iterator(at.root / "1/slurm")) {
    if (fs::exists(entry.path() / "job_id")) ++count;
  }
  return count;
}

}  // namespace

TEST_CASE("slurm: jobs run on the nodes, and their output is kept", "[slow]") {
  if (!has_slurm()) return;
  const SlurmExperiments at;
  const ShellResult launched = at.launch("echo unit $1 on $SLURMD_NODENAME; echo trouble >&2", 3);
  INFO(launched.output);
  REQUIRE(launched.exit_code == 0);
  REQUIRE(comes_true([&] { return at.all_are("completed"); }));
  CHECK(submissions(at) == 1);
  const Json job = at.job(2);
  CHECK(job.at("exit_code") == 0);
  CHECK(job.at("attempt") == 1);
  CHECK_THAT(at.trivet("logs 1/2").output, Contains("unit --n=2 on n") && Contains("trouble"));
  CHECK_THAT(at.trivet("status 1").output, Contains("3 completed"));
  // The scripts print nothing.
  CHECK(read_file(at.root / "1/slurm/1/0.log").empty());
}

TEST_CASE("slurm: arguments and variables arrive as they were written", "[slow]") {
  if (!has_slurm()) return;
  const SlurmExperiments at;
  const std::string text = "[xp]\nroot_dir = '" + at.root.string() +
                           "'\n[xp.orchestrator]\ntype = 'slurm/Orchestrator'\n[xp.jobs.main]\n"
                           "target = '/bin/sh'\n"
                           "args = ['-c', 'printf \"<%s>\\n\" \"$@\" \"$SAID\" \"$SECRET\"', 'x', "
                           "'a b', '\"', \"it's\", \"two\\nlines\", 'äöü €', '', '$HOME *', '%a']\n"
                           "env.SAID = \"a b\\n'c'\"\n";
  const fs::path file = at.folder.write("a b.toml", text);
  REQUIRE(at.trivet("launch --xp=" + quoted(file.string())).exit_code == 0);
  REQUIRE(comes_true([&] { return at.all_are("completed"); }));
  CHECK(at.trivet("logs 1").output ==
        "<a b>\n<\">\n<it's>\n<two\nlines>\n<äöü €>\n<>\n<$HOME *>\n<%a>\n<a b\n'c'>\n<>\n");
}

TEST_CASE("slurm: running and waiting units can be cancelled", "[slow]") {
  if (!has_slurm()) return;
  const SlurmExperiments at;
  // The nodes can run six.
  REQUIRE(
      at.launch("trap 'echo saved > $0/saved; exit 0' TERM; : > $0/up; while :; do sleep 0.1; done",
                8)
          .exit_code == 0);
  REQUIRE(comes_true([&] { return at.count("running") == 6; }));
  CHECK(at.state(8) == "queued");
  CHECK_THAT(at.trivet("cancel 1/8").output, Contains("1 work unit cancelled"));
  CHECK(at.state(8) == "cancelled");
  CHECK(at.count("running") == 6);
  CHECK_THAT(at.trivet("cancel 1").output, Contains("7 work units cancelled"));
  REQUIRE(comes_true([&] { return at.all_are("cancelled"); }));
  CHECK(read_file(at.unit_file(1, "saved")) == "saved\n");
  CHECK_FALSE(fs::exists(at.unit_file(7, "up")));
  CHECK_THAT(at.trivet("cancel 1").output, Contains("0 work units cancelled"));
}

TEST_CASE("slurm: failed jobs are retried as configured, but not after a config error", "[slow]") {
  if (!has_slurm()) return;
  const SlurmExperiments at;
  const std::string script =
      "echo run >> $0/ran; case $1 in --n=1) [ $(wc -l < $0/ran) = 3 ];; --n=2) exit 2;; "
      "--n=3) exit 7;; esac";
  REQUIRE(at.launch(script, 4, {}, "retries = 2\n").exit_code == 0);
  REQUIRE(comes_true([&] { return at.count("completed") == 2 && at.count("failed") == 2; }));
  CHECK(at.job(1).at("attempt") == 3);
  CHECK(at.job(2).at("attempt") == 1);
  CHECK(at.job(2).at("exit_code") == 2);
  CHECK(at.job(3).at("attempt") == 3);
  CHECK(read_file(at.unit_file(3, "ran")) == "run\nrun\nrun\n");
  SECTION("only retried units are submitted again") {
    CHECK_THAT(at.trivet("retry 1/2").output, Contains("1 work unit restarted"));
    REQUIRE(comes_true([&] { return at.job(2).at("attempt") == 2 && at.state(2) == "failed"; }));
    CHECK(read_file(at.unit_file(3, "ran")) == "run\nrun\nrun\n");
  }
}

TEST_CASE("slurm: a preempted job is queued again without using a retry", "[slow]") {
  if (!has_slurm()) return;
  const SlurmExperiments at;
  REQUIRE(at.launch("echo $SLURM_RESTART_COUNT >> $0/ran; [ $(wc -l < $0/ran) = 2 ] || exit 75", 1)
              .exit_code == 0);
  REQUIRE(comes_true([&] { return at.all_are("completed"); }));
  CHECK(at.job(1).at("attempt") == 2);
  CHECK(at.job(1).at("failures") == 0);
  // The same Slurm job.
  CHECK(read_file(at.unit_file(1, "ran")) == "\n1\n");
  CHECK(submissions(at) == 1);
}

TEST_CASE("slurm: jobs wait for others of their unit", "[slow]") {
  if (!has_slurm()) return;
  const SlurmExperiments at;
  const auto job = [](const char* name, const char* after) {
    return "[xp.jobs." + std::string(name) + "]\ntarget = '/bin/sh'\nargs = ['-c', 'echo " + name +
           " >> $0/order', '{wu_dir}']\nafter = ['" + after + "']\n";
  };
  const std::string jobs = job("report", "main") + job("cleanup", "afterany:report") +
                           job("rescue", "afternotok:main") + job("last", "afterany:cleanup");
  const ShellResult launched = at.launch("echo main >> $0/order; [ $1 != --n=2 ]", 3, {}, jobs);
  INFO(launched.output);
  REQUIRE(launched.exit_code == 0);
  const auto is_over = [&] {
    const Json units = at.status().at("units");
    for (const Json& unit : units) {
      for (const Json& one : unit.at("jobs")) {
        const std::string state = one.at("state");
        if (state != "completed" && state != "failed" && state != "skipped") return false;
      }
    }
    return true;
  };
  REQUIRE(comes_true(is_over));
  for (const int wid : {1, 3}) {
    CHECK(read_file(at.unit_file(wid, "order")) == "main\nreport\ncleanup\nlast\n");
    CHECK(at.state(wid, "rescue") == "skipped");
  }
  CHECK(at.state(2) == "failed");
  CHECK(at.state(2, "report") == "skipped");
  CHECK_THAT(at.job(2, "report").at("detail").get<std::string>(),
             Contains("afterok:main cannot come true, it is failed"));
  CHECK_THAT(read_file(at.unit_file(2, "order")), Contains("rescue\n"));
  CHECK(at.state(2, "last") == "completed");
}

TEST_CASE("slurm: Slurm gets the resources of a job", "[slow]") {
  if (!has_slurm()) return;
  const SlurmExperiments at("partition = 'low'\ngrace = 1\nsbatch_args = ['--comment=mine']\n");
  REQUIRE(at.launch(std::string("echo gpu $CUDA_VISIBLE_DEVICES $OMP_NUM_THREADS; ") + kUntilGo, 1,
                    {},
                    "platform = 'cuda=1'\ncores = 2\nmemory = '300MiB'\ntime_limit = '10m'\n"
                    "priority = 115\n")
              .exit_code == 0);
  REQUIRE(comes_true([&] { return at.count("running") == 1; }));
  CHECK(at.field(1, "Partition") == "low");
  CHECK(at.field(1, "NumCPUs") == "2");
  CHECK(at.field(1, "MinMemoryNode") == "300M");
  CHECK(at.field(1, "TresPerNode") == "gres:gpu:1");
  CHECK(at.field(1, "Comment") == "mine");
  CHECK(at.field(1, "Nice") == "850");
  // The job's own limit, a second of grace, and a minute.
  CHECK(at.field(1, "TimeLimit") == "00:12:00");
  at.folder.write("root/1/go", "");
  REQUIRE(comes_true([&] { return at.all_are("completed"); }));
  CHECK(at.trivet("logs 1").output == "gpu 0 2\n");
}

TEST_CASE("slurm: more units than an array may have become several arrays", "[slow]") {
  if (!has_slurm()) return;
  const SlurmExperiments at("max_array_size = 3\nmax_parallel = 1\n");
  const std::string report =
      "[xp.jobs.report]\ntarget = '/bin/sh'\nargs = ['-c', 'cat $0/said', '{wu_dir}']\n"
      "after = ['main']\n";
  REQUIRE(at.launch("echo $1 > $0/said", 8, {}, report).exit_code == 0);
  REQUIRE(comes_true([&] { return at.all_are("completed"); }));
  CHECK(submissions(at) == 6);
  CHECK(at.trivet("logs 1/7/report").output == "--n=7\n");
}

TEST_CASE("slurm: units that are added later are submitted, the others do not change", "[slow]") {
  if (!has_slurm()) return;
  const SlurmExperiments at;
  REQUIRE(at.launch("echo run >> $0/ran", 2).exit_code == 0);
  const ShellResult more = at.launch("echo run >> $0/ran", 3, "--xid 1");
  INFO(more.output);
  REQUIRE(more.exit_code == 0);
  REQUIRE(comes_true([&] { return at.all_are("completed"); }));
  CHECK(submissions(at) == 2);
  for (const int wid : {1, 2, 3}) CHECK(read_file(at.unit_file(wid, "ran")) == "run\n");
}

TEST_CASE("slurm: a run's config is swept on the cluster", "[slow]") {
  if (!has_slurm()) return;
  const SlurmExperiments at;
  const ShellResult launched =
      at.trivet("launch " + quoted(config("vision/local.toml").string()) + " --xp.root_dir=" +
                quoted(at.root.string()) + " --xp.orchestrator=slurm/Orchestrator" +
                " --sweep trainer.learning_rate=1e-2,1e-3 trainer.train_steps=20 " + kSmallRun);
  INFO(launched.output);
  REQUIRE(launched.exit_code == 0);
  REQUIRE(comes_true([&] { return at.all_are("completed"); }));
  CHECK_THAT(at.trivet("logs 1/1").output, Contains("done      step 20 of 20"));
}
