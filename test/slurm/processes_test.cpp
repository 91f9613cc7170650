// SPDX-License-Identifier: Apache-2.0
// Runs whose processes srun starts: they find each other, and end in the bytes of one process.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include <catch2/catch.hpp>

#include "program/run/run_fixture.h"
#include "program/run/watched_run.h"
#include "slurm_experiments.h"
#include "support/paths.h"
#include "support/plugin_folder.h"

namespace slurm_processes_test {

using namespace trivet::test;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

constexpr const char* kShards =
    "mesh.ici_mesh_shape=[4,1,1] task.model.dropout=0.1 trainer.validation_interval=0 "
    "runtime.threads=1 ";
// The nodes are one machine, on which Open MPI's shared memory has one name for two nodes.
constexpr const char* kOverLoopback =
    "--xp.env.OMPI_MCA_btl=self,tcp --xp.env.OMPI_MCA_btl_tcp_if_include=lo ";
// Passes a test case where MPI's processes cannot run on a cluster.
bool has_slurm_with_mpi() {
  if (!has_slurm()) return false;
  if (fs::exists(plugin_dir() / "mpi.so")) return true;
  WARN("the plugin mpi is not built");
  return false;
}

ShellResult launch_run(const SlurmExperiments& at, const std::string& more) {
  return at.trivet("launch " + quoted(config("lm/local.toml").string()) + " --xp.root_dir=" +
                   quoted(at.root.string()) + " --xp.orchestrator.type=slurm/Orchestrator " +
                   "--xp.orchestrator.grace=20 " + kOverLoopback + kShards + more);
}

std::string weights_at(const fs::path& run, std::int64_t step) {
  return read_file(checkpoint_of(run, step) / "model.safetensors");
}

// Of the checkpoints; 0 without one.
std::int64_t newest_step(const fs::path& run) {
  std::int64_t newest = 0;
  if (!fs::exists(run / "checkpoints")) return newest;
  constexpr std::string_view kPrefix = "step_";
  for (const auto& entry : fs::directory_iterator(run / "checkpoints")) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kPrefix) || name.find('.') != std::string::npos) continue;
    newest = std::max<std::int64_t>(newest, std::stoll(name.substr(kPrefix.size())));
  }
  return newest;
}

// Of a run that a node leaves; it must last until then.
constexpr const char* kFailing = "trainer.train_steps=200 trainer.checkpoint_interval=5 ";

// A node that is given no jobs.
class DrainedNode {
 public:
  explicit DrainedNode(int number) : name_("n" + std::to_string(number)) {
    cluster().command("scontrol update State=DRAIN Reason=test NodeName=" + name_);
  }
  ~DrainedNode() { cluster().command("scontrol update State=RESUME NodeName=" + name_); }
  DrainedNode(const DrainedNode&) = delete;
  DrainedNode& operator=(const DrainedNode&) = delete;

 private:
  std::string name_;
};

void set_down(int node) {
  cluster().command("scontrol update State=DOWN Reason=test NodeName=n" + std::to_string(node));
}

// Launches a run of four processes and waits for its first checkpoint.
void launch_on_two_nodes(const SlurmExperiments& at) {
  // A test case before may have ended jobs or nodes, and then Slurm gives the run one node at
  // first.
  REQUIRE(cluster().command("timeout 60 srun --nodes=2 --nodelist=n1,n2 true").exit_code == 0);
  REQUIRE(comes_true(
      [] { return cluster().command("sinfo -h -p main -n n1,n2 -t idle -o %D").output == "2\n"; }));
  const ShellResult launched =
      launch_run(at, std::string("--xp.processes=1..8 --xp.nodes=2 --xp.retries=2 ") + kFailing);
  INFO(launched.output);
  REQUIRE(launched.exit_code == 0);
  REQUIRE(comes_true([&] { return newest_step(at.root / "1/1") >= 5; }));
}

// That this run has been interrupted, and ends with so many processes in the bytes of one.
void check_continues(const SlurmExperiments& at, int processes) {
  const bool has_ended = comes_true([&] { return at.all_are("completed"); }, 120);
  INFO(at.trivet("show 1").output << at.trivet("logs 1").output
                                  << cluster().command("squeue -l").output
                                  << cluster().command("sinfo -N -l").output);
  CHECK(has_ended);
  const fs::path attempts = at.root / "1/1/jobs/train";
  CHECK(json_of(attempts / "1/started.json").at("processes") == 4);
  const auto last = at.job(1, "train").at("attempt").get<int>();
  CHECK(last > 1);
  CHECK(json_of(attempts / std::to_string(last) / "started.json").at("processes") == processes);
  const TempDir dir;
  REQUIRE(
      run(config("lm/local.toml"), dir.path() / "one", std::string(kShards) + kFailing).exit_code ==
      0);
  CHECK((weights_at(at.root / "1/1", 200) == weights_at(dir.path() / "one", 200)));
}

}  // namespace

TEST_CASE("slurm: processes of a run that srun starts end in the bytes of one", "[slow]") {
  if (!has_slurm_with_mpi()) return;
  const SlurmExperiments at;
  const ShellResult launched = launch_run(at, "--xp.processes=2 trainer.train_steps=6");
  INFO(launched.output);
  REQUIRE(launched.exit_code == 0);
  REQUIRE(comes_true([&] { return at.all_are("completed") || at.all_are("failed"); }));
  const std::string logs = at.trivet("logs 1").output;
  INFO(logs);
  REQUIRE(at.all_are("completed"));
  CHECK_THAT(at.trivet("show 1").output, Contains("1 core, for each of 2 replicas on 2 nodes\n"));
  CHECK_THAT(logs, Contains("2 processes of Open MPI") || Contains("2 processes of MPICH"));
  const TempDir dir;
  REQUIRE(run(config("lm/local.toml"), dir.path() / "one",
              std::string(kShards) + "trainer.train_steps=6")
              .exit_code == 0);
  CHECK((weights_at(at.root / "1/1", 6) == weights_at(dir.path() / "one", 6)));
}

TEST_CASE("slurm: a cancelled run of several processes has saved and continues", "[slow]") {
  if (!has_slurm_with_mpi()) return;
  const SlurmExperiments at;
  const ShellResult launched =
      launch_run(at, "--xp.processes=2 trainer.train_steps=1000000 trainer.summary_interval=5");
  INFO(launched.output);
  REQUIRE(launched.exit_code == 0);
  // A step has ended.
  const fs::path metrics = at.root / "1/1/metrics.jsonl";
  REQUIRE(comes_true([&] {
    return fs::exists(metrics) && read_file(metrics).find("training_loss") != std::string::npos;
  }));
  CHECK_THAT(at.trivet("cancel 1").output, Contains("1 work unit cancelled"));
  REQUIRE(comes_true([&] { return at.all_are("cancelled"); }));
  const std::string logs = at.trivet("logs 1").output;
  INFO(logs);
  CHECK_THAT(logs, Contains("stopped"));
  const std::int64_t saved = newest_step(at.root / "1/1");
  CHECK(saved > 0);
  const ShellResult continued =
      run(config("lm/local.toml"), at.root / "1/1",
          std::string(kShards) + "--processes 4 trainer.train_steps=" + std::to_string(saved + 1) +
              " trainer.summary_interval=5");
  INFO(continued.output);
  CHECK(continued.exit_code == 0);
  CHECK(newest_step(at.root / "1/1") == saved + 1);
}

TEST_CASE("slurm: a run whose process is killed is tried again and continues", "[slow]") {
  if (!has_slurm_with_mpi()) return;
  const SlurmExperiments at;
  const ShellResult launched =
      launch_run(at,
                 "--xp.processes=2 --xp.retries=1 trainer.train_steps=1000000 "
                 "trainer.checkpoint_interval=5");
  INFO(launched.output);
  REQUIRE(launched.exit_code == 0);
  REQUIRE(comes_true([&] { return newest_step(at.root / "1/1") >= 5; }));
  const std::string rank = "'^[^ ]*[t]rivet run .*" + at.root.string() + "/1/1 .*--processes=2'";
  CHECK(shell("pkill -KILL -n -f " + rank).exit_code == 0);
  // srun ends the other one after ten seconds.
  REQUIRE(comes_true([&] { return at.job(1, "train").at("attempt") == 2; }));
  CHECK(comes_true(
      [&] { return at.trivet("logs 1").output.find("continue step=") != std::string::npos; }));
  CHECK(at.trivet("cancel 1").exit_code == 0);
  REQUIRE(comes_true([&] { return at.all_are("cancelled"); }));
}

TEST_CASE("slurm: a run whose node fails continues on the others, to the bytes of one process",
          "[slow]") {
  if (!has_slurm_with_mpi()) return;
  // The first node has the script of the job, srun and process 0.
  const int node = GENERATE(2, 1);
  CAPTURE(node);
  const SlurmExperiments at;
  const DrainedNode third(3);
  launch_on_two_nodes(at);
  cluster().kill_node(node);
  // As Slurm does by itself after SlurmdTimeout, which is long in this cluster.
  set_down(node);
  check_continues(at, 2);
  cluster().start_node(node);
}

TEST_CASE("slurm: a run whose first node is taken out continues on the others", "[slow]") {
  if (!has_slurm_with_mpi()) return;
  const SlurmExperiments at;
  const DrainedNode third(3);
  launch_on_two_nodes(at);
  set_down(1);
  // A node that answers is taken back otherwise.
  const DrainedNode first(1);
  check_continues(at, 2);
}

TEST_CASE("slurm: a run continues while its first node computes on, out of reach of Slurm",
          "[slow]") {
  if (!has_slurm_with_mpi()) return;
  const SlurmExperiments at;
  const DrainedNode third(3);
  launch_on_two_nodes(at);
  cluster().kill_daemon(1);
  set_down(1);
  check_continues(at, 2);
  cluster().start_node(1);
}

TEST_CASE("slurm: a run whose step is cancelled is tried again and continues", "[slow]") {
  if (!has_slurm_with_mpi()) return;
  const SlurmExperiments at;
  launch_on_two_nodes(at);
  // The step that srun has made, "7_0.0"; the script is another one, "7_0.batch".
  const std::string steps = cluster().command("squeue -h -s -o %i").output;
  const auto end = steps.find(".0\n");
  REQUIRE(end != std::string::npos);
  const auto begin = steps.rfind('\n', end) + 1;
  CHECK(cluster().command("scancel " + steps.substr(begin, end + 2 - begin)).exit_code == 0);
  check_continues(at, 4);
}

TEST_CASE("slurm: processes that srun does not introduce to each other are refused once",
          "[slow]") {
  if (!has_slurm_with_mpi()) return;
  const SlurmExperiments at;
  REQUIRE(launch_run(at, "--xp.processes=2 trainer.train_steps=6 --xp.orchestrator.mpi=none")
              .exit_code == 0);
  REQUIRE(comes_true([&] { return at.all_are("failed"); }));
  CHECK(at.job(1, "train").at("exit_code") == 2);
  const std::string logs = at.trivet("logs 1").output;
  const std::string text = "srun has started 2 processes that do not find each other";
  INFO(logs);
  REQUIRE(logs.find(text) != std::string::npos);
  CHECK(logs.find(text) == logs.rfind(text));
  CHECK_FALSE(fs::exists(at.root / "1/1/config.toml"));
}

}  // namespace slurm_processes_test
