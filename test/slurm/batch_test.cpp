// SPDX-License-Identifier: Apache-2.0
// The options for Slurm, and the script that it runs.
#include "slurm/batch.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "slurm/commands.h"
#include "support/jobs.h"
#include "support/shell.h"
#include "trivet/error.h"

using namespace trivet;
using namespace trivet::slurm;
using namespace trivet::test;
using Catch::Contains;
using launch::Job;
namespace fs = std::filesystem;

namespace {

bool has(const std::vector<std::string>& arguments, const std::string& one) {
  return std::find(arguments.begin(), arguments.end(), one) != arguments.end();
}

bool has_option(const std::vector<std::string>& arguments, const std::string& name) {
  return std::any_of(arguments.begin(), arguments.end(),
                     [&](const std::string& one) { return one.starts_with(name); });
}

// A script with a test program instead of trivet, and commands that record their calls.
struct Script {
  explicit Script(const std::string& program, const SlurmConfig& config = {},
                  NodeCount nodes = NodeCount::fixed) {
    executable("it's here/trivet", program);
    executable("squeue", "cat \"" + (dir / "state").string() + "\"");
    // Slurm ends the script of a job that it queues again.
    executable("scontrol",
               "echo \"$@\" >> \"" + (dir / "scontrol.calls").string() + "\"; kill $PPID");
    dir.write("state", "RUNNING\n");
    dir.write("script",
              batch_script(dir / "it's here/trivet", dir / "a b/array.json", config, nodes));
  }
  void executable(const std::string& name, const std::string& text) const {
    fs::permissions(dir.write(name, "#!/bin/sh\n" + text + "\n"), fs::perms::owner_all);
  }
  std::string command() const {
    return "cd " + quoted(dir.path().string()) +
           " && exec env PATH=" + quoted(dir.path().string()) +
           ":$PATH SLURM_ARRAY_JOB_ID=7 SLURM_ARRAY_TASK_ID=3 bash script";
  }
  ShellResult run() const { return shell(command()); }
  std::string requeued() const {
    return fs::exists(dir / "scontrol.calls") ? read_file(dir / "scontrol.calls") : "";
  }

  TempDir dir;
};

}  // namespace

TEST_CASE("slurm: tasks are written as ranges, without tasks outside the array") {
  CHECK(task_ranges({5}) == "0");
  CHECK(task_ranges({5, 6, 7}) == "0-2");
  CHECK(task_ranges({5, 0, 7, 8, 9, 0, 11}) == "0,2-4,6");
  CHECK(task_ranges({0, 0, 7}) == "2");
}

TEST_CASE("slurm: the resources of a job become options of sbatch") {
  Job job;
  SlurmConfig config;
  const std::vector<std::string> plain = resource_arguments(job, config);
  CHECK(plain == std::vector<std::string>{"--nodes=1", "--ntasks=1", "--cpus-per-task=1",
                                          "--signal=B:USR1@30", "--requeue"});
  job.cores = 8;
  job.memory_bytes = 1025;
  job.platform = "a100";
  job.gpus = 2;
  job.priority = 25;
  job.cell = "fast";
  config.partition = "slow";
  config.account = "vision";
  config.qos = "low";
  config.requeue = false;
  config.grace = 0;
  config.sbatch_args = {"-C", "ib"};
  const std::vector<std::string> all = resource_arguments(job, config);
  for (const char* option :
       {"--cpus-per-task=8", "--mem=2K", "--gres=gpu:a100:2", "--partition=fast",
        "--account=vision", "--qos=low", "--nice=1750", "--no-requeue"}) {
    INFO(option);
    CHECK(has(all, option));
  }
  CHECK_FALSE(has_option(all, "--signal"));
  CHECK(std::vector<std::string>(all.end() - 2, all.end()) == config.sbatch_args);
}

TEST_CASE("slurm: GPUs of a general platform are of any type") {
  Job job;
  job.gpus = 1;
  job.platform = GENERATE("cpu", "cuda", "gpu");
  CHECK(has(resource_arguments(job, {}), "--gres=gpu:1"));
}

TEST_CASE("slurm: the allocated time is the configured one, or the job's limit with a margin") {
  Job job;
  SlurmConfig config;
  config.grace = 30;
  CHECK_FALSE(has_option(resource_arguments(job, config), "--time"));
  // 89 s, 30 s of grace and a minute are 2.98 minutes.
  job.time_limit_seconds = 89;
  CHECK(has(resource_arguments(job, config), "--time=0-00:03:00"));
  config.time = 2 * 86400 + 3 * 3600 + 4 * 60 + 1;
  CHECK(has(resource_arguments(job, config), "--time=2-03:05:00"));
}

TEST_CASE("slurm: the queue's lines are parsed, and other lines are rejected") {
  const Queue queue = Queue::parse(
      "7|0|RUNNING|None|n1|a|b\n7|12|PENDING|Priority||a|b\n9|N/A|RUNNING|None|n2|c\n");
  REQUIRE(queue.find("7", 12) != nullptr);
  CHECK(queue.find("7", 12)->reason == "Priority");
  CHECK(queue.find("7", 0)->host == "n1");
  CHECK(queue.find("7", 1) == nullptr);
  CHECK(queue.job_id_of("a|b") == "7");
  CHECK(queue.job_id_of("c").empty());
  CHECK(Queue::parse("").find("7", 0) == nullptr);
  for (const char* text : {"garbage\n", "7|0|RUNNING\n", "x|0|RUNNING|None|n1|a\n", "\n"}) {
    CHECK_THROWS_AS(Queue::parse(text), RunError);
  }
}

TEST_CASE("slurm: only known end states are ends") {
  for (const char* state : {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "PREEMPTED",
                            "BOOT_FAIL", "DEADLINE", "OUT_OF_MEMORY"}) {
    CHECK_FALSE(QueueEntry{state, {}, {}}.is_active());
  }
  for (const char* state : {"PENDING", "RUNNING", "COMPLETING", "SUSPENDED", "REQUEUED", "NEW"}) {
    CHECK(QueueEntry{state, {}, {}}.is_active());
  }
}

TEST_CASE("slurm: the script calls the program with the array's file, the task and its id") {
  const Script script("for word in \"$@\"; do echo \"<$word>\"; done >&2; exit 5");
  const ShellResult result = script.run();
  CHECK(result.exit_code == 5);
  CHECK(result.output == "<job>\n<" + (script.dir / "a b/array.json").string() +
                             ">\n<3>\n<--detail>\n<Slurm job 7_3>\n<--ready>\n");
  CHECK(script.requeued().empty());
}

TEST_CASE("slurm: the script of jobs with fewer processes on fewer nodes tells their number") {
  SlurmConfig config;
  config.requeue = GENERATE(true, false);
  const Script script("for word in \"$@\"; do echo \"<$word>\"; done >&2; exit 5", config,
                      NodeCount::range);
  const ShellResult result =
      shell("SLURM_JOB_NUM_NODES=3; export SLURM_JOB_NUM_NODES; " + script.command());
  CHECK_THAT(result.output, Catch::EndsWith(std::string("<--ready>\n<--nodes>\n<3>\n") +
                                            (config.requeue ? "<--elsewhere>\n" : "")));
}

TEST_CASE("slurm: the script requests a restart unless Slurm is already ending the job") {
  SlurmConfig config;
  config.requeue = GENERATE(true, false);
  const auto [state, goes_on] = GENERATE(table<std::string, bool>({{"RUNNING", true},
                                                                   {"SIGNALING", true},
                                                                   {"STOPPED", true},
                                                                   {"A_NEW_STATE", true},
                                                                   {"COMPLETING", false},
                                                                   {"TIMEOUT", false},
                                                                   {"PREEMPTED", false},
                                                                   {"CANCELLED", false},
                                                                   {"PENDING", false},
                                                                   {"", false}}));
  CAPTURE(state, config.requeue);
  const Script script("exit 75", config);
  script.dir.write("state", state + "\n");
  CHECK(script.run().exit_code == 75);
  CHECK(script.requeued() == (config.requeue && goes_on ? "requeue 7_3\n" : ""));
}

TEST_CASE("slurm: the script requests a restart again if it gets no answer") {
  const Script script("exit 75");
  script.executable("sleep", "echo \"$@\" >> pauses");
  SECTION("to its request") {
    script.executable("scontrol",
                      "echo \"$@\" >> scontrol.calls; "
                      "[ $(wc -l < scontrol.calls) = 2 ] && kill $PPID");
    CHECK(script.run().exit_code == 75);
    CHECK(script.requeued() == "requeue 7_3\nrequeue 7_3\n");
    CHECK(read_file(script.dir / "pauses") == "1\n");
  }
  SECTION("to how the job is") {
    script.executable("squeue", "echo >> asked; [ $(wc -l < asked) = 3 ] && echo RUNNING");
    CHECK(script.run().exit_code == 75);
    CHECK(script.requeued() == "requeue 7_3\n");
  }
  SECTION("and then waits to be ended by Slurm") {
    script.executable("scontrol", "echo \"$@\" >> scontrol.calls");
    CHECK(script.run().exit_code == 75);
    CHECK(script.requeued() == "requeue 7_3\n");
    std::string seconds;
    for (int i = 0; i < 120; ++i) seconds += "1\n";
    CHECK(read_file(script.dir / "pauses") == seconds);
  }
  SECTION("ever") {
    script.executable("squeue", "exit 1");
    CHECK(script.run().exit_code == 75);
    CHECK(script.requeued().empty());
  }
}

TEST_CASE("slurm: the script forwards signals and waits for their effect") {
  const int signal = GENERATE(SIGTERM, SIGUSR1);
  const Script script(
      "trap 'echo TERM >> got' TERM; trap 'echo USR1 >> got' USR1; echo ready $$; : > up; "
      "while [ ! -e go ]; do sleep 0.01; done; exit 6");
  const pid_t running =
      in_child([&] { ::execl("/bin/sh", "sh", "-c", script.command().c_str(), nullptr); });
  REQUIRE(wait_until([&] { return fs::exists(script.dir / "up"); }));
  const std::string once = signal == SIGTERM ? "TERM\n" : "USR1\n";
  const auto got = [&] {
    return fs::exists(script.dir / "got") ? read_file(script.dir / "got") : std::string();
  };
  ::kill(running, signal);
  REQUIRE(wait_until([&] { return got() == once; }));
  // The same signal may be lost while Bash handles the previous one.
  REQUIRE(wait_until([&] {
    ::kill(running, signal);
    return got().starts_with(once + once);
  }));
  script.dir.write("go", "");
  CHECK(WEXITSTATUS(wait_for_child(running)) == 6);
}

TEST_CASE("slurm: the script holds back signals until the program can handle them") {
  // A slow program dies of a signal until it reports that it is ready.
  const Script script(
      "for i in $(seq 1000); do [ -e signaled ] && break; sleep 0.01; done; trap 'echo TERM >> "
      "got' TERM; "
      "echo ready $$; for i in $(seq 500); do [ -e got ] && exit 6; sleep 0.01; done");
  // Bash reads this first, and runs the trap ahead of each command.
  const std::string before = GENERATE(as<std::string>{}, "exec\\ *", "read\\ *");
  script.dir.write("early", "trap 'case $BASH_COMMAND in " + before +
                                ") [ -e signaled ] || kill -TERM $$; : > signaled;; esac' DEBUG\n");
  const ShellResult result = shell("BASH_ENV=early; export BASH_ENV; " + script.command());
  CHECK(result.exit_code == 6);
  CHECK(read_file(script.dir / "got") == "TERM\n");
}
