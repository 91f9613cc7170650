// SPDX-License-Identifier: Apache-2.0
// The Slurm orchestrator with commands that are missing, fail, hang or print nonsense. Scripts of
// the same names replace them.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

#include <catch2/catch.hpp>

#include "fake_slurm.h"
#include "support/jobs.h"
#include "support/paths.h"
#include "support/plugin_folder.h"

using namespace trivet::test;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

// Reports the save request, and has done its work after a restart.
constexpr const char* kSavesAtOnce =
    "[ ! -e $0/saved ] || exit 0; trap ': > $0/saved; exit 75' TERM; : > $0/up; "
    "while :; do sleep 0.02; done";

}  // namespace

TEST_CASE("slurm: without its commands nothing is launched") {
  const TempDir empty;
  const Experiments at("type = 'slurm/Orchestrator'\n",
                       "PATH=" + quoted(empty.path().string()) + " ");
  const ShellResult launched = at.launch("true", 1);
  CHECK(launched.exit_code == 1);
  CHECK_THAT(launched.output, Contains("cannot start 'sbatch'") && Contains("on PATH"));
  CHECK_FALSE(fs::exists(at.root));
}

TEST_CASE("slurm: a job that sbatch rejects is an input error, and nothing is recorded") {
  const FakeExperiments fake;
  fake.slurm.set("sbatch",
                 "echo 'sbatch: error: invalid partition specified: p' >&2; "
                 "echo 'allocation failure: Invalid partition name specified' >&2; exit 1");
  const ShellResult launched = fake.launch();
  CHECK(launched.exit_code == 2);
  CHECK_THAT(launched.output, Contains("Slurm would not take job 'main'") &&
                                  Contains("invalid partition specified: p") && Contains("sinfo"));
  CHECK_FALSE(fs::exists(fake.at.root));
}

TEST_CASE("slurm: a controller that is down is not a config error") {
  const FakeExperiments fake;
  fake.slurm.set("sbatch", "echo 'Unable to contact slurm controller' >&2; exit 1");
  fake.slurm.set("scontrol", "echo 'Slurmctld(primary) at c is DOWN'; exit 1");
  const ShellResult launched = fake.launch();
  CHECK(launched.exit_code == 1);
  CHECK_THAT(launched.output, Contains("controller does not answer"));
  CHECK_FALSE(fs::exists(fake.at.root));
}

TEST_CASE("slurm: bad settings are reported with their keys") {
  const FakeExperiments fake;
  const auto output = [&](const std::string& setting) {
    const ShellResult launched = fake.launch("--xp.orchestrator." + setting);
    CHECK(launched.exit_code == 2);
    return launched.output;
  };
  CHECK_THAT(output("grace=-1s"), Contains("grace") && Contains("must not be negative"));
  CHECK_THAT(output("time=-1s"), Contains("time") && Contains("must not be negative"));
  CHECK_THAT(output("timeout=0"), Contains("timeout") && Contains("more than 0"));
  CHECK_THAT(output("max_array_size=-1"), Contains("max_array_size"));
  CHECK_THAT(output("'sbatch_args=[\"ib\"]'"), Contains("'ib' is not an option of sbatch"));
  for (const std::string own : {"--array=1", "-a1", "--job-name=x", "-J", "--wrap=true"}) {
    CHECK_THAT(output("'sbatch_args=[\"" + own + "\"]'"),
               Contains("'" + own + "' is set by the orchestrator"));
  }
  CHECK(fake.slurm.calls() == 0);
  // A short option's value may be a separate word.
  CHECK(
      fake.launch("--xp.orchestrator.sbatch_args='[\"-C\", \"ib\", \"--exclusive\"]'").exit_code ==
      0);
  CHECK_THAT(read_file(fake.slurm.file("calls")), Contains("-C ib --exclusive"));
}

TEST_CASE("slurm: jobs that need variables of the launcher are rejected, each once") {
  const FakeExperiments fake;
  const ShellResult launched = fake.at.launch(
      "true", 3, {},
      "env_pass = ['HF_*']\n[xp.jobs.other]\ntarget = '/bin/true'\nenv_pass = ['X']\n");
  INFO(launched.output);
  CHECK(launched.exit_code == 2);
  CHECK_THAT(launched.output,
             Contains("xp.jobs.main.env_pass: jobs on Slurm get no environment variables") &&
                 Contains("xp.jobs.other.env_pass"));
  const std::string& said = launched.output;
  CHECK(said.find("main.env_pass") == said.rfind("main.env_pass"));
  CHECK(fake.slurm.calls() == 0);
  CHECK_FALSE(fs::exists(fake.at.root));
}

TEST_CASE("slurm: a run that ends with exit code 0 before it is done has failed", "[slow]") {
  const PluginFolder plugins;
  plugins.copy("walkout");
  const FakeExperiments fake(
      "TRIVET_PLUGIN_PATH=" + quoted(plugin_dir().string() + ":" + plugins.path().string()) + " ");
  const ShellResult launched =
      fake.at.trivet("launch " + quoted(config("vision/local.toml").string()) + " --xp.root_dir=" +
                     quoted(fake.at.root.string()) + " --xp.orchestrator=slurm/Orchestrator" +
                     " trainer.train_steps=20 trainer.validation_interval=0"
                     " task.model.activation.type=walkout/Leave"
                     " --sweep task.model.activation.how=stays,leaves");
  INFO(launched.output);
  REQUIRE(launched.exit_code == 0);
  const std::string job = "job " + quoted((fake.at.root / "1/slurm/1/array.json").string()) + " ";
  CHECK(fake.at.trivet(job + "0").exit_code == 0);
  CHECK(fake.at.trivet(job + "1").exit_code != 0);
  CHECK(fake.at.state(1, "train") == "completed");
  CHECK(fake.at.state(2, "train") == "failed");
  CHECK_THAT(fake.at.job(2, "train").at("detail").get<std::string>(),
             Contains("exit code 0 before it was done"));
}

TEST_CASE("slurm: a non-numeric answer of sbatch is reported, and resume continues") {
  const FakeExperiments fake;
  fake.slurm.set("sbatch", "case \"$*\" in *--test-only*) exit 0;; esac; echo 'Good day!'");
  const ShellResult launched = fake.launch();
  CHECK(launched.exit_code == 1);
  CHECK_THAT(launched.output,
             Contains("something other than a job id: Good day!") && Contains("trivet resume"));
  CHECK(fake.at.all_are("pending"));
  const FakeSlurm fresh;
  fake.slurm.set("sbatch", read_file(fresh.folder / "sbatch"));
  CHECK_THAT(fake.at.trivet("resume 1").output, Contains("continuing 2 work units"));
  CHECK(fresh.calls() == 1);
}

TEST_CASE("slurm: a command that hangs is ended, with all its child processes") {
  const FakeExperiments fake;
  fake.slurm.set("sbatch", "case \"$*\" in *--test-only*) exit 0;; esac; sleep 600 & wait");
  const ShellResult launched = fake.launch("--xp.orchestrator.timeout=500ms");
  CHECK(launched.exit_code == 1);
  CHECK_THAT(launched.output,
             Contains("'sbatch' did not answer within 0.5 s") && Contains("scontrol ping"));
}

TEST_CASE("slurm: an unreadable queue does not change known states") {
  const FakeExperiments fake;
  REQUIRE(fake.launch().exit_code == 0);
  const std::string answer = GENERATE(as<std::string>{}, "echo 'no such | thing'", "echo 7; exit 0",
                                      "echo 'x|0|RUNNING|None|n|j'", "echo broken >&2; exit 3");
  fake.slurm.set("squeue", answer);
  const ShellResult status = fake.at.trivet("status 1");
  INFO(status.output);
  CHECK(status.exit_code == 0);
  CHECK_THAT(status.output, Contains("squeue") && Contains("showing the last recorded states") &&
                                Contains("2 queued"));
  CHECK(fake.at.trivet("retry 1").exit_code == 1);
}

TEST_CASE("slurm: states of the queue become those of the units", "[slow]") {
  const FakeExperiments fake;
  REQUIRE(fake.launch().exit_code == 0);
  const std::string name = fake.slurm.name();
  const auto state_after = [&](const std::string& entry) {
    fake.slurm.folder.write("queue", "7|0|" + entry + "|" + name + "\n7|1|PENDING|None||" + name +
                                         "\n8|N/A|RUNNING|None|n1|a|b\n");
    return fake.at.job(1);
  };
  CHECK(state_after("PENDING|Priority|").at("detail") == "Slurm job 7_0");
  CHECK(state_after("PENDING|JobHeldUser|").at("detail") == "Slurm job 7_0: JobHeldUser");
  CHECK(state_after("RUNNING|None|n3").at("state") == "queued");
  CHECK(state_after("RUNNING|None|n3").at("host") == "n3");
  CHECK(state_after("A_NEW_STATE|None|n3").at("state") == "queued");
  SECTION("ended by somebody") {
    CHECK(state_after("CANCELLED|None|").at("state") == "cancelled");
    CHECK(fake.at.state(2) == "queued");
  }
  SECTION("out of time") {
    CHECK(state_after("TIMEOUT|None|").at("state") == "failed");
    CHECK(fake.at.job(1).at("detail") == "Slurm job 7_0: TIMEOUT");
  }
  SECTION("its node has failed, and it was not queued again") {
    CHECK(state_after("NODE_FAIL|None|").at("state") == "lost");
    CHECK_THAT(fake.at.trivet("resume 1").output, Contains("continuing 2 work units"));
    CHECK(fake.slurm.calls() == 2);
  }
  SECTION("forgotten") {
    fake.slurm.folder.write("queue", "");
    CHECK(fake.at.count("lost") == 2);
    CHECK_THAT(fake.at.job(2).at("detail").get<std::string>(),
               Contains("Slurm job 7_1 is gone; see ") && Contains("slurm/1/1.log"));
  }
}

TEST_CASE("slurm: a job that has saved is queued again in any Slurm state") {
  const FakeExperiments fake;
  REQUIRE(fake.at.launch(kSavesAtOnce, 1).exit_code == 0);
  fake.set_queue("RUNNING");
  // Until the node has confirmed the signal.
  fake.slurm.folder.write("state", "SIGNALING\n");
  const pid_t running = in_child(
      [&] { ::execl("/bin/sh", "sh", "-c", ("exec env " + fake.script()).c_str(), nullptr); });
  const fs::path up = fake.at.unit_file(1, "up");
  REQUIRE(wait_until([&] { return fs::exists(up); }));
  ::kill(running, SIGUSR1);
  CHECK(WEXITSTATUS(wait_for_child(running)) == 75);
  CHECK(fake.slurm.requeued() == "requeue 7_0\n");
  fake.set_queue("PENDING");
  CHECK(fake.at.state(1) == "queued");
  CHECK(shell(fake.script()).exit_code == 0);
  CHECK(fake.at.state(1) == "completed");
  CHECK(fake.at.job(1).at("failures") == 0);
}

TEST_CASE("slurm: a signal before the program can handle it does not end the job") {
  const FakeExperiments fake;
  REQUIRE(fake.at.launch(kSavesAtOnce, 1).exit_code == 0);
  fake.set_queue("RUNNING");
  fake.slurm.folder.write("state", "RUNNING\n");
  const std::string signal = GENERATE(as<std::string>{}, "USR1", "TERM");
  const fs::path early = fake.at.folder.write(
      "early", "trap 'case $BASH_COMMAND in read\\ *) kill -" + signal + " $$;; esac' DEBUG\n");
  const ShellResult result = shell(fake.script("BASH_ENV=" + quoted(early.string()) + " "));
  INFO(result.output);
  CHECK(result.exit_code == 75);
  CHECK(fake.slurm.requeued() == "requeue 7_0\n");
  CHECK(fake.at.state(1) == "queued");
  CHECK(fake.at.job(1).at("failures") == 0);
}

TEST_CASE("slurm: a saved job that Slurm drops is waiting, not lost", "[slow]") {
  const FakeExperiments fake;
  REQUIRE(fake.at.launch("exit 75", 1).exit_code == 0);
  REQUIRE(fake.at.trivet("job " + quoted((fake.at.root / "1/slurm/1/array.json").string()) + " 0")
              .exit_code == 75);
  // A killed controller comes back with its saved state and ends a job at its time limit that has
  // long released its node.
  fake.set_queue("RUNNING");
  CHECK(fake.at.state(1) == "queued");
  const std::string end = GENERATE(as<std::string>{}, "TIMEOUT", "FAILED", "NODE_FAIL", "gone");
  if (end == "gone") {
    fake.slurm.folder.write("queue", "");
  } else {
    fake.set_queue(end);
  }
  CHECK(fake.at.state(1) == "preempted");
  CHECK_THAT(fake.at.trivet("status 1").output,
             Contains("exit code 75, Slurm job 7_0" + (end == "gone" ? " is gone" : ": " + end) +
                      "; waits for 'trivet resume'"));
  CHECK(fake.at.trivet("resume 1").exit_code == 0);
  CHECK(fake.slurm.calls() == 2);
}

TEST_CASE("slurm: checking a lost job uses none of its retries", "[slow]") {
  const FakeExperiments fake;
  // The first attempt is killed with its shim, the second fails, the third succeeds.
  const std::string script =
      "echo >> $0/ran; n=$(wc -l < $0/ran); [ $n != 1 ] || {{ : > $0/up; while :; do sleep 0.02; "
      "done; }}; "
      "[ $n = 3 ]";
  REQUIRE(fake.at.launch(script, 1, {}, "retries = 1\n").exit_code == 0);
  fake.set_queue("RUNNING");
  const std::string job = "exec " + quoted(program().string()) + " job " +
                          quoted((fake.at.root / "1/slurm/1/array.json").string()) + " 0";
  const pid_t running = in_child([&] { ::execl("/bin/sh", "sh", "-c", job.c_str(), nullptr); });
  const fs::path up = fake.at.unit_file(1, "up");
  REQUIRE(wait_until([&] { return fs::exists(up); }));
  ::kill(running, SIGKILL);
  wait_for_child(running);
  const bool looks = GENERATE(true, false);
  CAPTURE(looks);
  if (looks) {
    fake.set_queue("PENDING");
    REQUIRE(wait_until([&] { return fake.at.state(1) == "queued"; }));
    CHECK(fake.at.job(1).at("failures") == 0);
    // Again, with the queue after the node has come back.
    fake.set_queue("RUNNING");
    CHECK(fake.at.job(1).at("failures") == 0);
  }
  CHECK(fake.at.trivet("job " + quoted((fake.at.root / "1/slurm/1/array.json").string()) + " 0")
            .exit_code == 0);
  CHECK(fake.at.state(1) == "completed");
  CHECK(fake.at.job(1).at("attempt") == 3);
}

TEST_CASE("slurm: a late status update does not overwrite a job's record") {
  const FakeExperiments fake;
  REQUIRE(fake.at.launch("true", 1).exit_code == 0);
  const fs::path events = fake.at.root / "1/events.jsonl";
  const auto append = [&](const std::string& line) {
    std::ofstream(events, std::ios::app) << line << '\n';
  };
  // The task reports it first and then creates the attempt's directory.
  append(R"({"wid":1,"job":"main","state":"running","attempt":1,"failures":0})");
  fake.set_queue("RUNNING");
  CHECK(fake.at.state(1) == "running");
  fake.set_queue("PENDING");
  CHECK(fake.at.state(1) == "queued");
  const std::string text = read_file(events);
  const std::size_t last = text.rfind('\n', text.size() - 2) + 1;
  const std::string late = text.substr(last, text.size() - last - 1);
  REQUIRE_THAT(late, Contains("queued"));
  REQUIRE(fake.at.trivet("job " + quoted((fake.at.root / "1/slurm/1/array.json").string()) + " 0")
              .exit_code == 0);
  append(late);
  fake.set_queue("COMPLETED");
  CHECK(fake.at.state(1) == "completed");
  CHECK(fake.at.job(1).at("attempt") == 1);
}

TEST_CASE("slurm: a launcher that is killed after sbatch loses and duplicates nothing") {
  const FakeExperiments fake;
  const FakeSlurm usual;
  fake.slurm.set("sbatch", "case \"$*\" in *--test-only*) exit 0;; esac; echo \"$@\" >> " +
                               fake.slurm.file("calls") + "; kill -9 $PPID");
  CHECK(fake.launch().exit_code == 137);
  REQUIRE(fake.slurm.calls() == 1);
  CHECK(fake.at.all_are("pending"));
  const std::string name = fake.slurm.name();
  fake.slurm.set("sbatch", "echo \"$@\" >> " + fake.slurm.file("calls") + "; echo 9");
  SECTION("Slurm has the job") {
    fake.slurm.folder.write("queue",
                            "5|0|PENDING|None||" + name + "\n5|1|RUNNING|None|n1|" + name + "\n");
    CHECK(fake.at.trivet("resume 1").exit_code == 0);
    CHECK(fake.slurm.calls() == 1);
    CHECK(read_file(fake.at.root / "1/slurm/1/job_id") == "5\n");
    CHECK(fake.at.all_are("queued"));
  }
  SECTION("Slurm does not have it") {
    CHECK(fake.at.trivet("resume 1").exit_code == 0);
    CHECK(fake.slurm.calls() == 2);
    CHECK(fake.slurm.name() != name);
    // If it starts anyway, it finds nothing to do.
    CHECK_FALSE(fs::exists(fake.at.root / "1/slurm/1/array.json"));
    CHECK(fs::exists(fake.at.root / "1/slurm/2/array.json"));
  }
}

TEST_CASE("slurm: a failed cancel is reported and can be repeated", "[slow]") {
  const FakeExperiments fake;
  REQUIRE(fake.launch().exit_code == 0);
  fake.slurm.folder.write("queue", "7|0|PENDING|None||j\n7|1|RUNNING|None|n1|j\n");
  fake.slurm.set("scancel", "echo 'scancel: error: Access/permission denied' >&2; exit 1");
  const ShellResult denied = fake.at.trivet("cancel 1");
  CHECK(denied.exit_code == 1);
  CHECK_THAT(denied.output, Contains("'scancel' failed") && Contains("permission denied"));
  // Tasks that ended in the meantime are not a failure: Slurm reports them, or only
  // ESLURM_ALREADY_DONE, or another error although no task is left.
  const std::string complaint =
      GENERATE(as<std::string>{}, "echo 'scancel: error: Invalid job id specified' >&2; exit 1",
               "exit 229", "echo 'scancel: error: It is no more' >&2; exit 1");
  fake.slurm.set("scancel", "echo \"$@\" >> " + fake.slurm.file("scancelled") + "; : > " +
                                fake.slurm.file("queue") + "; " + complaint);
  CHECK(fake.at.trivet("cancel 1").exit_code == 0);
  CHECK_THAT(read_file(fake.slurm.file("scancelled")), Contains("7_0\n"));
  CHECK(fake.at.all_are("cancelled"));
}
