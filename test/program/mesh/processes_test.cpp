// SPDX-License-Identifier: Apache-2.0
// Runs of several processes, by the engine that needs nothing installed and by MPI: their number
// changes no byte, and what ends one of them ends the run.
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "program/run/run_fixture.h"
#include "program/run/watched_run.h"
#include "support/jobs.h"
#include "support/paths.h"
#include "support/plugin_folder.h"

using namespace trivet::test;
using Catch::Contains;
namespace fs = std::filesystem;

namespace processes_test {
namespace {

constexpr const char* kShards =
    "mesh.ici_mesh_shape=[8,1,1] task.model.dropout=0.1 trainer.train_steps=6 "
    "trainer.steps_per_loop=2 trainer.validation_interval=3 trainer.validation_steps=2 "
    "trainer.gradient_clip.global_norm=0.5 trainer.ema.decay=0.9 runtime.threads=1 "
    "'trainer.eval_actions=[{ type = \"trivet/Export\" }]' ";

// All that a run of six steps has computed.
struct Computed {
  std::string tensors, state, records;
};

Computed computed_by(const fs::path& run) {
  const fs::path checkpoint = run / "checkpoints" / "step_00000006";
  std::string tensors;
  for (const char* file : {"model.safetensors", "optimizer.safetensors", "ema.safetensors"}) {
    tensors += read_file(checkpoint / file);
  }
  tensors += read_file(run / "export" / "model-6" / "model.safetensors");  // averages
  nlohmann::json state = json_of(checkpoint / "state.json");
  state.erase("run");  // has the config, and so the number of processes
  return {tensors, state.dump(), record_values(run)};
}

void check_equal(const Computed& one, const Computed& other) {
  CHECK((one.tensors == other.tensors));  // not to print megabytes
  CHECK(one.state == other.state);
  CHECK(one.records == other.records);
}

std::vector<std::string> with_mesh(std::vector<std::string> more) {
  more.insert(more.begin(), "mesh.ici_mesh_shape=[4,1,1]");
  return more;
}

bool is_gone(pid_t pid) {
  return ::kill(pid, 0) != 0;
}

}  // namespace

TEST_CASE("any number of processes ends in the bytes of one") {
  const TempDir dir;
  const auto local = config("lm/local.toml");
  const auto run_with = [&](const std::string& name, const std::string& more) {
    const ShellResult result = run(local, dir.path() / name, kShards + more);
    INFO(result.output);
    REQUIRE(result.exit_code == 0);
    return computed_by(dir.path() / name);
  };
  const Computed one = run_with("one", "");
  check_equal(run_with("two", "--processes 2"), one);
  check_equal(run_with("four", "--processes 4 runtime.threads=2"), one);
  check_equal(run_with("eight", "mesh.processes=8"), one);
  // Each process reads its own rows of a batch.
  check_equal(run_with("hosts",
                       "--processes 2 task.train_input.num_infeed_hosts=2 "
                       "task.train_input.batch_size=4"),
              one);
  // An odd extent is added from left to right, by any number of processes that can share it.
  const std::string odd = "mesh.dcn_mesh_shape=[3,1,1] task.train_input.batch_size=24 ";
  check_equal(run_with("odd3", odd + "--processes 3"), run_with("odd1", odd));
}

TEST_CASE("processes share states, several tasks, and stages of a training", "[slow]") {
  const TempDir dir;
  for (const std::string name : {"vision/mobilenet", "vision/multitask", "vision/progressive"}) {
    std::vector<std::string> bytes;
    for (const std::string count : {"1", "2"}) {
      const fs::path workdir = dir.path() / (name.substr(7) + count);
      const ShellResult result = run(config(name + ".toml"), workdir,
                                     "mesh.ici_mesh_shape=[2,1,1] runtime.threads=1 "
                                     "trainer.train_steps=4 --processes " +
                                         count);
      INFO(result.output);
      REQUIRE(result.exit_code == 0);
      const fs::path checkpoint = checkpoint_of(workdir, 4);
      bytes.push_back(read_file(checkpoint / "model.safetensors") +
                      read_file(checkpoint / "optimizer.safetensors") + record_values(workdir));
    }
    INFO(name);
    CHECK((bytes[0] == bytes[1]));
  }
}

TEST_CASE("MPI's processes end in the bytes of one", "[slow][nosan]") {
  if (!fs::exists(plugin_dir() / "mpi.so")) {
    WARN("the plugin mpi is not built");
    SUCCEED();
    return;
  }
  const TempDir dir;
  const auto local = config("lm/local.toml");
  REQUIRE(run(local, dir.path() / "one", kShards).exit_code == 0);
  const ShellResult mpi = run(local, dir.path() / "mpi",
                              std::string(kShards) + "--processes 2 mesh.collective=mpi/Mpi");
  INFO(mpi.output);
  REQUIRE(mpi.exit_code == 0);
  CHECK_THAT(mpi.output, Contains("2 processes of Open MPI") || Contains("2 processes of MPICH"));
  check_equal(computed_by(dir.path() / "mpi"), computed_by(dir.path() / "one"));
  // The launcher's own words are not the user's concern.
  const ShellResult refused = run(local, dir.path() / "bad",
                                  std::string(kShards) +
                                      "--processes 2 mesh.collective=mpi/Mpi "
                                      "task.init_checkpoint=/nowhere");
  INFO(refused.output);
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.output, !Contains("mpirun"));
}

TEST_CASE("a bad step is undone by all processes as by one", "[slow]") {
  const TempDir dir;
  const auto local = config("vision/local.toml");
  const std::string words = std::string(kSmallRun) +
                            "mode=train mesh.ici_mesh_shape=[4,1,1] trainer.train_steps=40 "
                            "trainer.steps_per_loop=1 ";
  REQUIRE(run(local, dir.path() / "plain", words).exit_code == 0);
  const std::string bad = one_bad_step(dir.path() / "plain", 20);
  for (const std::string how :
       {"trainer.checkpoint_interval=5 trainer.recovery=restore ", "trainer.recovery=skip "}) {
    std::vector<std::string> models;
    for (const std::string count : {"1", "2"}) {
      const fs::path workdir = dir.path() / (how.substr(0, 20) + count);
      const ShellResult result = run(local, workdir, words + bad + how + "--processes " + count);
      INFO(result.output);
      REQUIRE(result.exit_code == 0);
      CHECK_THAT(result.output, Contains("the training loss is"));
      models.push_back(read_file(checkpoint_of(workdir, 40) / "model.safetensors") +
                       record_values(workdir));
    }
    CHECK((models[0] == models[1]));
  }
}

TEST_CASE("a process that fails alone is named, and a summary has costs of each process",
          "[slow]") {
  const TempDir dir;
  const std::string words = std::string(kSmallRun) +
                            "mode=train mesh.ici_mesh_shape=[2,1,1] trainer.train_steps=8 "
                            "--processes 2 ";
  const auto local = config("vision/local.toml");
  const fs::path workdir = dir.path() / "run";
  REQUIRE(run(local, workdir, words).exit_code == 0);
  const auto summary = json_of(workdir / "summary.json");
  const auto waited = summary.at("waited_seconds").get<std::vector<double>>();
  REQUIRE(waited.size() == 2);
  const double exchange = summary.at("exchange_seconds");
  CHECK(exchange > 0);
  CHECK(exchange <= std::min(waited[0], waited[1]) * (1 + 1e-9));
  CHECK(summary.at("measured_seconds") > 0.0);
  // Only process 1 makes a directory there.
  const ShellResult failed = run(local, dir.path() / "bad", words, "TMPDIR=/nowhere ");
  INFO(failed.output);
  CHECK(failed.exit_code == 1);
  CHECK_THAT(failed.output, Contains("process 1 of 2: ") && Contains("/nowhere"));
  CHECK(state_of(dir.path() / "bad") == "failed");
}

TEST_CASE("a run whose directory is removed ends with its name, in one process and in several",
          "[slow]") {
  for (const char* processes : {"1", "2"}) {
    CAPTURE(processes);
    const TempDir dir;
    const fs::path workdir = dir.path() / "run";
    Process process(run_words(workdir, 1,
                              {"mesh.ici_mesh_shape=[4,1,1]", "trainer.checkpoint_interval=100",
                               std::string("mesh.processes=") + processes}),
                    dir.path() / "output");
    REQUIRE(wait_until([&] { return fs::exists(workdir / "checkpoints/step_00000100"); }));
    // All at once, unlike by `rm -r`, beside which files are made again.
    fs::rename(workdir, dir.path() / "away");
    CHECK(process.wait() == 1);
    INFO(process.output());
    CHECK_THAT(process.output(), Contains("error: ") && Contains(workdir.string()));
  }
}

TEST_CASE("a launcher learns from one file that a run of several processes is done") {
  const TempDir dir;
  const std::string settings = "TRIVET_DONE_FILE=" + quoted((dir.path() / "done").string()) + " ";
  const std::string words = std::string(kSmallRun) +
                            "mode=train mesh.ici_mesh_shape=[2,1,1] trainer.train_steps=4 "
                            "--processes 2 ";
  const auto local = config("vision/local.toml");
  CHECK(
      run(local, dir.path() / "bad", words + "task.init_checkpoint=/nowhere", settings).exit_code ==
      2);
  CHECK_FALSE(fs::exists(dir.path() / "done"));
  CHECK(run(local, dir.path() / "run", words, settings).exit_code == 0);
  CHECK(fs::exists(dir.path() / "done"));
}

TEST_CASE("a run continues with any number of processes after a stop or a kill", "[slow]") {
  const TempDir dir;
  const fs::path one = dir.path() / "one", workdir = dir.path() / "run";
  REQUIRE(run_to_end(one, 1, nullptr, with_mesh({})) == 0);
  const RunResult undisturbed = result_of(one);
  struct Stop {
    int signal;
    int rank;  // -1: the process that the user started
    int code;
    std::string state;
  };
  const Stop stops[] = {{SIGTERM, -1, 75, "preempted"}, {SIGKILL, 1, 1, "failed"},
                        {SIGTERM, 1, 75, "preempted"},  {SIGKILL, 0, 1, "running"},
                        {SIGINT, -1, 130, "preempted"}, {SIGKILL, -1, 128 + SIGKILL, "running"}};
  const std::string counts[] = {"2", "4", "2", "2", "4", "2"};
  std::int64_t step = 400;
  for (std::size_t i = 0; i < std::size(stops); ++i, step += 1200) {
    const auto& [signal, rank, code, state] = stops[i];
    CAPTURE(signal, rank);
    WatchedRun watched(workdir, run_words(workdir, 1, with_mesh({"mesh.processes=" + counts[i]})),
                       dir.path() / "out");
    const bool came = watched.wait_for_step(step);
    INFO(watched.process.output());
    REQUIRE(came);
    const std::vector<pid_t> ranks = children_of(watched.process.pid());
    REQUIRE(std::to_string(ranks.size()) == counts[i]);
    ::kill(rank < 0 ? watched.process.pid() : ranks[static_cast<std::size_t>(rank)], signal);
    CHECK(watched.process.wait() == code);
    CHECK(state_of(workdir) == state);
    for (int tries = 0; tries < 500; ++tries) {
      if (std::all_of(ranks.begin(), ranks.end(), is_gone)) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    CHECK(std::all_of(ranks.begin(), ranks.end(), is_gone));
  }
  REQUIRE(run_to_end(workdir, 2, nullptr, with_mesh({"mesh.processes=1"})) == 0);
  CHECK(result_of(workdir) == undisturbed);
}

TEST_CASE("a process that stands still ends the run after mesh.timeout", "[slow]") {
  const TempDir dir;
  const fs::path workdir = dir.path() / "run";
  WatchedRun watched(workdir,
                     run_words(workdir, 1, with_mesh({"mesh.processes=2", "mesh.timeout=1s"})),
                     dir.path() / "out");
  REQUIRE(watched.wait_for_step(100));
  const std::vector<pid_t> ranks = children_of(watched.process.pid());
  REQUIRE(ranks.size() == 2);
  ::kill(ranks[1], SIGSTOP);
  CHECK(watched.process.wait() == 1);
  CHECK_THAT(watched.process.output(), Contains("waited 1.0 s for another process"));
  CHECK(state_of(workdir) == "failed");
}

TEST_CASE("processes that differ are refused, and one of them reports it") {
  const TempDir dir;
  const fs::path workdir = dir.path() / "run";
  const std::string words = quoted(program().string()) + " run " +
                            quoted(config("lm/local.toml").string()) + " --workdir " +
                            quoted(workdir.string()) + " mode=train ";
  // Two processes as their starter starts them, with words of their own.
  const auto both = [&](const std::string& first, const std::string& second) {
    const std::string start = "TRIVET_PLUGIN_PATH=" + quoted(plugin_dir().string()) +
                              " TRIVET_PROCESSES=2 TRIVET_WORLD_FD=9 TRIVET_RANK=";
    const std::string memory = quoted((dir.path() / "memory").string());
    return shell(": > " + memory + "; exec 9<> " + memory + "; " + start + "1 " + words + second +
                 " & " + start + "0 " + words + first +
                 "; code=$?; wait $!; exit $((code * 10 + $?))");
  };
  const auto count_of = [](const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
      ++count;
    }
    return count;
  };
  struct Case {
    std::string first, second, text;
  };
  const std::string two = "mesh.ici_mesh_shape=[2,1,1] mesh.processes=2 ";
  const Case cases[] = {
      {two + "seed=1", two + "seed=2",
       "process 1 of 2 differs from process 0: 'seed = 1' and 'seed = 2'"},
      {"mesh.processes=1 mesh.collective=local/SharedMemory trainer.train_step=1",
       "mesh.processes=1 trainer.train_step=1", "train_step"},
      {two, two + "trainer.ema.decay=0.5", "process 1 of 2 differs from process 0"},
      {two + "task.init_checkpoint=/nowhere", two + "task.init_checkpoint=/nowhere", "/nowhere"},
      {"mesh.ici_mesh_shape=[4,1,1] mesh.processes=4",
       "mesh.ici_mesh_shape=[4,1,1] mesh.processes=4",
       "mesh.processes: is 4, and this is process 0 of 2 that local/SharedMemory has started"},
  };
  for (const Case& refused : cases) {
    const ShellResult result = both(refused.first, refused.second);
    INFO(result.output);
    CHECK(result.exit_code / 10 == 2);
    CHECK_THAT(result.output, Contains(refused.text));
    CHECK(count_of(result.output, "error: ") == 1);
    CHECK_FALSE(fs::exists(workdir));
  }
}

TEST_CASE("a number of processes that cannot be is refused before any is started") {
  struct Case {
    std::string overrides, text;
  };
  const Case cases[] = {
      {"--processes 3", "mesh.processes: is 3; this mesh of 8 devices can be shared by 1, 2, 4, 8"},
      {"--processes 0", "mesh.processes: must be >= 1, found 0"},
      {"--processes two", "mesh.processes"},
      {"--processes 2 --mode eval", "--processes requires a mode that trains"},
      {"--processes 2 mesh.collective=local/Nothing", "mesh.collective"},
      {"--processes 2 mesh.timeout=0", "mesh.timeout"},
      {"--processes 2 task.train_input.num_infeed_hosts=4 task.train_input.batch_size=2",
       "task.train_input.num_infeed_hosts: is 4, and mesh.processes is 2"},
      {"--processes 2 task.train_input.num_infeed_hosts=2 task.train_input.batch_size=4 "
       "task.train_input.infeed_host_index=1",
       "task.train_input.infeed_host_index: is 1, and each process of a run has one of its own"},
  };
  for (const Case& refused : cases) {
    const TempDir dir;
    const ShellResult result =
        run(config("lm/local.toml"), dir.path() / "run", kShards + refused.overrides);
    INFO(result.output);
    CHECK(result.exit_code == 2);
    CHECK_THAT(result.output, Contains(refused.text));
    CHECK_FALSE(fs::exists(dir.path() / "run"));
  }
}

TEST_CASE("processes of srun that do not find each other are refused by one of them") {
  const TempDir dir;
  const auto local = config("lm/local.toml");
  const std::string words = std::string(kShards) + "--processes 2";
  const auto task = [&](const std::string& rank, const std::string& tasks) {
    return run(local, dir.path() / ("task" + tasks), words,
               "SLURM_PROCID=" + rank + " SLURM_STEP_NUM_TASKS=" + tasks + " ");
  };
  const ShellResult first = task("0", "2");
  CHECK(first.exit_code == 2);
  CHECK_THAT(first.output, Contains("mesh.processes: is 2, and srun has started 2 processes that "
                                    "do not find each other by "));
  const ShellResult second = task("1", "2");
  CHECK(second.exit_code == 2);
  CHECK(second.output.empty());
  CHECK_FALSE(fs::exists(dir.path() / "task2"));
  // A task that is alone starts the processes of its run.
  CHECK(task("0", "1").exit_code == 0);
}

TEST_CASE("a launcher that starts several runs of one process is warned about once") {
  const TempDir dir;
  const auto task = [&](const std::string& rank, const std::string& size, const std::string& more) {
    return run(config("vision/local.toml"), dir.path() / ("task" + rank + more),
               std::string(kSmallRun) + "mode=train trainer.train_steps=2 " + more,
               "OMPI_COMM_WORLD_RANK=" + rank + " OMPI_COMM_WORLD_SIZE=" + size + " ");
  };
  const std::string text =
      "mpirun has started 2 processes, and mesh.processes is 1: each is a run of its own; "
      "mesh.processes=2 makes them one";
  const ShellResult first = task("0", "2", "");
  CHECK(first.exit_code == 0);
  CHECK_THAT(first.output, Contains("warning: " + text));
  CHECK_THAT(task("1", "2", "").output, !Contains("mpirun"));
  CHECK_THAT(task("0", "1", "seed=2").output, !Contains("mpirun"));
  // An engine of one machine does not know of mpirun's processes.
  const ShellResult lone = task(
      "0", "2", "mesh.ici_mesh_shape=[2,1,1] mesh.processes=2 mesh.collective=local/SharedMemory");
  CHECK(lone.exit_code == 2);
  CHECK_THAT(lone.output, Contains("mpirun has started 2 processes that do not find each other by "
                                   "local/SharedMemory"));
}

TEST_CASE("processes that MPI starts one by one are refused", "[nosan]") {
  if (!fs::exists(plugin_dir() / "mpi.so")) {
    WARN("the plugin mpi is not built");
    SUCCEED();
    return;
  }
  // As a launcher of another MPI starts them.
  const TempDir dir;
  const ShellResult alone = run(config("vision/local.toml"), dir.path() / "run",
                                std::string(kSmallRun) +
                                    "mode=train trainer.train_steps=2 mesh.ici_mesh_shape=[2,1,1] "
                                    "mesh.processes=2 mesh.collective=mpi/Mpi",
                                "PMI_RANK=0 PMI_SIZE=2 ");
  INFO(alone.output);
  CHECK(alone.exit_code == 2);
  CHECK_THAT(alone.output,
             Contains("mesh.processes: is 2, and process 0 finds only 1 of them by "));
  CHECK_FALSE(fs::exists(dir.path() / "run"));
}

}  // namespace processes_test
