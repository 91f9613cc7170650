// SPDX-License-Identifier: Apache-2.0
// Jobs of several processes: what Slurm is asked for, and that all of them run.
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "fake_slurm.h"
#include "slurm/batch.h"
#include "slurm_experiments.h"
#include "trivet/config/json.h"
#include "trivet/launch/job_array.h"

namespace replicas_test {

using namespace trivet::test;
using namespace trivet::slurm;
using Catch::Contains;
using trivet::launch::Job;
using Words = std::vector<std::string>;

namespace {

bool has(const Words& arguments, const std::string& one) {
  return std::find(arguments.begin(), arguments.end(), one) != arguments.end();
}

}  // namespace

TEST_CASE("slurm: replicas are tasks on nodes, with what each needs") {
  Job job;
  job.replicas = 4;
  job.nodes = 2;
  job.cores = 3;
  job.memory_bytes = 1025;
  job.platform = "v100";
  job.gpus = 2;
  const Words arguments = resource_arguments(job, {});
  // Memory and GPUs are those of a node.
  for (const char* option : {"--nodes=2", "--ntasks=4", "--ntasks-per-node=2", "--cpus-per-task=3",
                             "--mem=4K", "--gres=gpu:v100:4"}) {
    INFO(option);
    CHECK(has(arguments, option));
  }
  const Words started = {"/usr/bin/env",        "srun",
                         "--nodes=2",           "--ntasks=4",
                         "--ntasks-per-node=2", "--cpus-per-task=3"};
  const auto with = [&](const Words& more) {
    Words all = started;
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  CHECK(starter_of(job, {}) == with({"--label", "--"}));
  CHECK(starter_of(Job(), {}).empty());
  // The processes of a run find each other, and end by themselves.
  job.communicates = true;
  CHECK(starter_of(job, {}) == with({"--kill-on-bad-exit=0", "--wait=10", "--mpi=pmix", "--"}));
  trivet::slurm::SlurmConfig config;
  config.mpi = "";
  CHECK(starter_of(job, config) == with({"--kill-on-bad-exit=0", "--wait=10", "--"}));
}

TEST_CASE("slurm: a run with a range of processes asks for a range of nodes") {
  Job job;
  job.replicas = job.processes = 8;
  job.nodes = 4;
  job.cores = 3;
  job.communicates = true;
  job.process_counts = {4, 8};
  const Words arguments = resource_arguments(job, {});
  CHECK(has(arguments, "--nodes=2-4"));
  CHECK(has(arguments, "--mincpus=6"));
  // Slurm would not start the job on fewer nodes than it had tasks for.
  for (const std::string& argument : arguments) {
    CHECK_FALSE(argument.starts_with("--ntasks"));
    CHECK_FALSE(argument.starts_with("--cpus-per-task"));
  }
  const Words starter = starter_of(job, {});
  for (const char* word :
       {"--nodes={nodes}", "--ntasks={replicas}", "--ntasks-per-node={replicas_on_node}"}) {
    CHECK(has(starter, word));
  }
  job.process_counts = {1, 2, 4, 8};
  CHECK(has(resource_arguments(job, {}), "--nodes=1-4"));
}

TEST_CASE("slurm: the script of a job with replicas starts them with srun") {
  const FakeExperiments fake;
  fake.slurm.set("srun", "echo \"$@\" >> " + fake.slurm.file("srun.calls") +
                             "; while [ \"$1\" != -- ]; do shift; done; shift; "
                             "for SLURM_PROCID in 0 1; do export SLURM_PROCID; \"$@\"; done");
  const ShellResult launched =
      fake.at.launch("echo $SLURM_PROCID >> $0/seen", 1, "--xp.platform=v100=4x2");
  INFO(launched.output);
  REQUIRE(launched.exit_code == 0);
  const std::string calls = read_file(fake.slurm.file("calls"));
  CHECK_THAT(calls,
             Contains("--nodes=2 --ntasks=2 --ntasks-per-node=1") && Contains("--gres=gpu:v100:4"));
  fake.set_queue("RUNNING");
  const ShellResult ran = shell(fake.script());
  INFO(ran.output);
  CHECK(ran.exit_code == 0);
  CHECK(read_file(fake.at.unit_file(1, "seen")) == "0\n1\n");
  CHECK_THAT(read_file(fake.slurm.file("srun.calls")),
             Contains("--nodes=2 --ntasks=2") && Contains("-- /bin/sh -c"));
  CHECK(fake.at.state(1, "main") == "completed");
}

TEST_CASE("slurm: the signal that ends a job is in the file of its array") {
  trivet::launch::JobArray array;
  array.end_signal = SIGUSR1;
  CHECK(trivet::launch::job_array_from(trivet::launch::to_value(array)).end_signal == SIGUSR1);
  CHECK(trivet::launch::attempt_options(array).end_signal == SIGUSR1);
  trivet::Value other = trivet::launch::to_value(array);
  // No signal that a job could be asked by.
  other.set("end_signal", 9);
  CHECK(trivet::launch::job_array_from(other).end_signal == SIGTERM);
  other.erase("end_signal");
  CHECK(trivet::launch::job_array_from(other).end_signal == SIGTERM);
}

TEST_CASE("slurm: an array of an older version has no replicas") {
  const FakeExperiments fake;
  REQUIRE(fake.launch().exit_code == 0);
  const std::filesystem::path file = fake.at.root / "1/slurm/1/array.json";
  const trivet::Value array = trivet::value_from_json(read_file(file), "array.json");
  trivet::Value older = array;
  older.erase("starter");
  CHECK(trivet::launch::job_array_from(older).starter.empty());
}

TEST_CASE("slurm: replicas run on nodes of their own and count as one job", "[slow]") {
  if (!has_slurm()) return;
  const SlurmExperiments at;
  const ShellResult launched = at.launch(
      "echo $SLURM_PROCID of $SLURM_NTASKS > $0/$SLURMD_NODENAME; [ $SLURM_PROCID != $FAILS ]", 1,
      "--xp.replicas=2 --xp.jobs.main.env.FAILS=9");
  INFO(launched.output);
  REQUIRE(launched.exit_code == 0);
  REQUIRE(comes_true([&] { return at.all_are("completed"); }));
  std::vector<std::string> seen;
  for (const auto& entry : std::filesystem::directory_iterator(at.unit_file(1, ""))) {
    if (entry.is_regular_file()) seen.push_back(read_file(entry.path()));
  }
  std::sort(seen.begin(), seen.end());
  CHECK(seen == Words{"0 of 2\n", "1 of 2\n"});
  // One that fails is the job's failure.
  REQUIRE(at.launch("[ $SLURM_PROCID != 1 ]", 1, "--xp.replicas=2 --xid=1").exit_code == 0);
  REQUIRE(comes_true([&] { return at.state(2, "main") == "failed"; }));
  CHECK(at.job(2).at("exit_code") == 1);
}

}  // namespace replicas_test
