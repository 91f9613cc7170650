// SPDX-License-Identifier: Apache-2.0
// Launches of runs of several processes: what their jobs need, who starts them, what is refused.
#include <filesystem>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "launched_experiments.h"
#include "launching.h"
#include "program/run/run_fixture.h"
#include "program/run/watched_run.h"
#include "support/paths.h"

namespace launch_processes_test {

using namespace trivet::test;
using Catch::Contains;
using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

namespace {

std::string local_config() {
  return "--cfg=" + quoted(config("lm/local.toml").string());
}

constexpr const char* kReplicas = "--xp.orchestrator.has_replicas=true ";

std::string on_mesh(const std::string& more) {
  return local_config() + " mesh.ici_mesh_shape=[4,1,1] " + more;
}

const Json& job_of(const Json& plan, const std::string& name, std::size_t unit = 0) {
  return plan.at("units").at(unit).at("jobs").at(name);
}

// "--processes=2" of a job's argv; empty without.
std::string said_processes(const Json& job) {
  std::string said;
  for (const std::string& word : words(job.at("argv"))) {
    if (word.starts_with("--processes=")) said += word;
  }
  return said;
}

}  // namespace

TEST_CASE("a job of a run has the cores, memory and GPUs of the processes that it starts") {
  const Launching at;
  for (const std::string said :
       {"--xp.processes=2 ", "mesh.processes=2 ", "--xp.jobs.train.replicas=2 ",
        "--xp.replicas=2 mesh.processes=2 "}) {
    INFO(said);
    const Json job =
        job_of(at.plan(on_mesh(said + "--xp.cores=3 --xp.memory=1GiB --xp.gpus=1")), "train");
    CHECK(said_processes(job) == "--processes=2");
    CHECK(job.at("replicas") == 1);
    CHECK(job.at("cores") == 6);
    CHECK(job.at("memory_bytes") == std::int64_t{2} << 30);
    CHECK(job.at("gpus") == 2);
  }
  const Json one = job_of(at.plan(on_mesh("--xp.cores=3")), "train");
  CHECK(said_processes(one).empty());
  CHECK(one.at("cores") == 3);
}

TEST_CASE("an orchestrator that starts replicas starts the processes of a run") {
  const Launching at;
  const Json job = job_of(
      at.plan(on_mesh(std::string(kReplicas) + "--xp.processes=4 --xp.nodes=2 --xp.cores=3")),
      "train");
  CHECK(said_processes(job) == "--processes=4");
  CHECK(job.at("replicas") == 4);
  CHECK(job.at("nodes") == 2);
  CHECK(job.at("cores") == 3);
  // An engine without a launcher is for one machine.
  const Json own = job_of(at.plan(on_mesh(std::string(kReplicas) +
                                          "--xp.processes=4 mesh.collective=local/SharedMemory")),
                          "train");
  CHECK(said_processes(own) == "--processes=4");
  CHECK(own.at("replicas") == 1);
  CHECK(own.at("cores") == 4);
}

TEST_CASE("the units of a sweep each have the cores of their processes") {
  const Launching at;
  const Json plan = at.plan(on_mesh("--sweep mesh.processes=1,2,4"));
  std::vector<std::int64_t> cores;
  for (std::size_t unit = 0; unit < 3; ++unit) {
    cores.push_back(job_of(plan, "train", unit).at("cores"));
  }
  CHECK(cores == std::vector<std::int64_t>{1, 2, 4});
}

TEST_CASE("processes that a run cannot have are refused before anything is recorded", "[slow]") {
  const Launching at;
  const auto refusal = [&](const std::string& more) { return at.refusal(on_mesh(more)); };
  CHECK_THAT(refusal("--xp.processes=3"),
             Contains("this mesh of 4 devices can be shared by 1, 2, 4"));
  CHECK_THAT(refusal("--xp.processes=2 mesh.processes=4"),
             Contains("xp.jobs.train.replicas: is 2, but mesh.processes is 4"));
  CHECK_THAT(refusal("--xp.processes=1 mesh.processes=4"),
             Contains("xp.jobs.train.replicas: is 1, but mesh.processes is 4"));
  CHECK_THAT(refusal("--xp.processes=2 --xp.nodes=2"),
             Contains("xp.jobs.train.nodes: is 2, but a run that starts its processes itself has "
                      "one machine"));
  CHECK_THAT(refusal("mode=eval --xp.processes=2"),
             Contains("has 2 replicas, but an evaluation is one process"));
  CHECK_THAT(refusal("--xp.processes=2 --sweep mesh.processes=1,2"),
             Contains("is set, but mesh.processes is swept"));
  CHECK_THAT(refusal(std::string(kReplicas) + "--sweep mesh.processes=1,2"),
             Contains("the units have 1 to 2 processes (mesh.processes), but paper/Orchestrator "
                      "starts the same number for all"));
  CHECK_THAT(refusal(std::string(kReplicas) + "--xp.processes=4 --xp.nodes=3"),
             Contains("4 replicas do not fit on 3 nodes"));
  CHECK_THAT(refusal("--xp.processes=two"),
             Contains("xp.replicas: expected a whole number, or a "
                      "range such as \"1..8\", found a string, \"two\""));
  CHECK_THAT(refusal("--xp.processes=0"), Contains("xp.replicas: must be in [1, 100000]"));
  // The launch does not know of what a glob sets for a unit.
  CHECK_THAT(
      refusal("--sweep 'mesh.process*=2,4'"),
      Contains("mesh.processes: is 2 for the job 'train', which is launched as one process"));
}

TEST_CASE("a run with a range of processes has the largest number that its mesh allows") {
  const Launching at;
  const auto job = [&](const std::string& more) { return job_of(at.plan(on_mesh(more)), "train"); };
  const Json most = job("--xp.processes=1..7 --xp.cores=2");
  CHECK(said_processes(most) == "--processes=4");
  CHECK(most.at("process_counts") == Json({1, 2, 4}));
  CHECK(most.at("processes") == 4);
  CHECK(most.at("cores") == 8);
  // One number is no choice.
  const Json one = job("--xp.jobs.train.replicas=3..9");
  CHECK(said_processes(one) == "--processes=4");
  CHECK(one.at("process_counts") == Json::array());
  CHECK(said_processes(job("--xp.processes=1..1")).empty());
  const Json started =
      job(std::string(kReplicas) + "--xp.processes=2..8 --xp.nodes=2 --xp.cores=3");
  CHECK(started.at("replicas") == 4);
  CHECK(started.at("nodes") == 2);
  CHECK(started.at("cores") == 3);
  CHECK(started.at("process_counts") == Json({2, 4}));
  CHECK_THAT(at.launch(on_mesh("--xp.processes=2..8 --dry-run")).output,
             Contains("4 cores, for 4 processes or fewer (2)\n"));
}

TEST_CASE("a range of processes that a run cannot have is refused before anything is recorded",
          "[slow]") {
  const Launching at;
  const auto refusal = [&](const std::string& more) { return at.refusal(on_mesh(more)); };
  const std::string range = "--xp.processes=1..8 ";
  CHECK_THAT(refusal("--xp.processes=5..7"),
             Contains("xp.jobs.train.replicas: is 5..7; this mesh of 4 devices can be shared by 1, "
                      "2, 4") &&
                 Contains("a range with one of these numbers"));
  CHECK_THAT(
      refusal("--xp.processes=8..1"),
      Contains("xp.jobs.train.replicas: '8..1' has no number in it") && Contains("\"1..8\""));
  for (const char* text : {"1..", "..8", "one..8", "1..8..9", "1-8"}) {
    INFO(text);
    CHECK_THAT(refusal(std::string("--xp.processes=") + text),
               Contains("xp.replicas: expected a whole number, or a range such as \"1..8\""));
  }
  CHECK_THAT(refusal("--xp.processes=0..8"), Contains("xp.replicas: must be in [1, 100000]"));
  CHECK_THAT(refusal("--xp.processes=1..100001"), Contains("xp.replicas: must be in [1, 100000]"));
  CHECK_THAT(refusal(range + "mesh.processes=4"),
             Contains("xp.jobs.train.replicas: is 1..8, but mesh.processes is 4") &&
                 Contains("remove one of them"));
  const std::string local = local_config() + " " + range;
  CHECK_THAT(at.refusal(local),
             Contains("xp.jobs.train.replicas: is 1..8, but the mesh of the run has one device"));
  CHECK_THAT(refusal(range + "mode=eval"), Contains("an evaluation is one process"));
  CHECK_THAT(refusal(range + "--sweep mesh.processes=1,2"),
             Contains("xp.jobs.train.replicas: is 1..8, but mesh.processes is swept"));
  CHECK_THAT(at.refusal(local + "--sweep mesh.ici_mesh_shape=[4,1,1],[2,1,1]"),
             Contains("is 1..8, but mesh.ici_mesh_shape is swept"));
  CHECK_THAT(refusal(range + "--xp.platform=v100=4x2"),
             Contains("is 1..8, but the platform 'v100=4x2' has 2"));
  CHECK_THAT(refusal(range + "--xp.nodes=2"),
             Contains("a run that starts its processes itself has one machine"));
  CHECK_THAT(refusal(std::string(kReplicas) + range + "--xp.nodes=3"),
             Contains("4 replicas do not fit on 3"));
  CHECK_THAT(
      refusal(std::string(kReplicas) + range + "--xp.nodes=1"),
      Contains("xp.jobs.train.nodes: is 1, so that 1 processes need all machines that 4 need"));
  CHECK_THAT(refusal(std::string(kReplicas) + range + "mesh.collective=local/SharedMemory"),
             Contains("is 1..8, but a run with local/SharedMemory starts its processes itself"));
  // The same run for each number of processes, or none.
  CHECK_THAT(refusal(range + "trainer.train_steps='${mesh.processes}'"),
             Contains("trainer.train_steps: is 4 with 4 processes and 1 with 1"));
  CHECK_THAT(at.refusal(at.xp("[xp.jobs.a]\ntarget = '/bin/true'\n") + " --xp.processes=1..8"),
             Contains("xp.jobs.a.replicas: is 1..8, but the job 'a' is not a run of trivet"));
}

TEST_CASE("a launched run of two processes that is cancelled continues in one", "[nosan]") {
  const Experiments at("type = 'local/Orchestrator'\n");
  const std::string mesh = "mesh.ici_mesh_shape=[2,1,1] runtime.threads=1 ";
  const ShellResult launched =
      at.trivet("launch " + quoted(config("vision/local.toml").string()) + " --xp.root_dir=" +
                quoted(at.root.string()) + " --xp.orchestrator.cores=2 --xp.processes=2 " +
                kSmallRun + mesh + "trainer.train_steps=1000000 trainer.summary_interval=5");
  INFO(launched.output);
  REQUIRE(launched.exit_code == 0);
  const fs::path unit = at.root / "1/1";
  REQUIRE(comes_true([&] { return last_step(unit) > 0; }));
  CHECK(at.trivet("cancel 1").exit_code == 0);
  REQUIRE(comes_true([&] { return at.all_are("cancelled"); }));
  const Json status = json_of(unit / "status.json");
  CHECK(status.at("state") == "preempted");
  const auto saved = status.at("step").get<std::int64_t>();
  CHECK(saved > 0);
  const ShellResult continued =
      run(config("vision/local.toml"), unit,
          kSmallRun + mesh +
              "trainer.summary_interval=5 trainer.train_steps=" + std::to_string(saved + 5));
  INFO(continued.output);
  CHECK(continued.exit_code == 0);
  CHECK(json_of(unit / "status.json").at("state") == "done");
}

TEST_CASE("a run that loses a process continues with as many as fit, to the bytes of one process",
          "[slow][nosan]") {
  const Experiments at("type = 'local/Orchestrator'\ncores = 4\ngrace = 1\n");
  const std::string settings =
      std::string(kSmallRun) +
      "mesh.ici_mesh_shape=[4,1,1] runtime.threads=1 trainer.train_steps=1500 "
      "trainer.checkpoint_interval=100 trainer.max_to_keep=0 ";
  const ShellResult launched =
      at.trivet("launch " + quoted(config("vision/local.toml").string()) +
                " --xp.root_dir=" + quoted(at.root.string()) +
                " --xp.orchestrator.cores=4 --xp.processes=1..8 --xp.retries=1 " + settings);
  INFO(launched.output);
  REQUIRE(launched.exit_code == 0);
  const fs::path unit = at.root / "1/1";
  REQUIRE(comes_true([&] { return fs::exists(checkpoint_of(unit, 100)); }));
  // Another experiment waits for three of the four cores, and gets them first.
  REQUIRE(at.launch("sleep 1000", 1, "", "cores = 3\n").exit_code == 0);
  REQUIRE(comes_true([&] {
    const fs::path ledger = at.folder / "trivet/ledger.json";
    return json_of(ledger).at("reservations").size() == 1;
  }));
  const std::string rank = "'^[^ ]*[t]rivet run .*" + unit.string() + " .*--processes=4'";
  CHECK(shell("pkill -KILL -n -f " + rank).exit_code == 0);
  REQUIRE(comes_true([&] { return at.job(1, "train").at("state") == "completed"; }, 120));
  CHECK(json_of(unit / "jobs/train/1/started.json").at("processes") == 4);
  CHECK(json_of(unit / "jobs/train/1/exit.json").at("exit_code") == 1);
  CHECK(json_of(unit / "jobs/train/2/started.json").at("processes") == 1);
  CHECK_THAT(at.trivet("show 1").output,
             Contains("attempt 1: 4 processes on ") && Contains("attempt 2: 1 process on "));
  const Json shown = Json::parse(at.trivet("show --json 1").output);
  const Json& attempts = shown.at("units").at(0).at("jobs").at("train").at("attempts");
  CHECK(attempts.at(0).at("processes") == 4);
  CHECK(attempts.at(1).at("processes") == 1);
  CHECK(at.trivet("cancel 2").exit_code == 0);
  const TempDir dir;
  REQUIRE(run(config("vision/local.toml"), dir.path() / "one", settings).exit_code == 0);
  CHECK((read_file(checkpoint_of(unit, 1500) / "model.safetensors") ==
         read_file(checkpoint_of(dir.path() / "one", 1500) / "model.safetensors")));
}

}  // namespace launch_processes_test
