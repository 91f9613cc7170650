// SPDX-License-Identifier: Apache-2.0
// Jobs use the files as of the launch, even if the files change later.
#include <filesystem>
#include <fstream>
#include <string>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "launched_experiments.h"
#include "support/paths.h"

namespace launch_snapshot_test {

using namespace trivet::test;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

void write(const fs::path& file, const std::string& text, bool executable = false) {
  std::ofstream(file) << text;
  if (executable) fs::permissions(file, fs::perms::owner_exec, fs::perm_options::add);
}

// A script with a file. The second unit waits until `go` exists.
struct Changing {
  Experiments at;
  fs::path script = at.folder / "main.sh", data = at.folder / "data.txt", go = at.folder / "go";

  Changing() {
    write(script, text("v1"));
    write(data, "one\n");
  }
  std::string text(const std::string& version) const {
    return "[ \"$1\" = --n=1 ] || while [ ! -e " + go.string() + " ]; do sleep 0.02; done\necho " +
           version + " $(cat $2)\n";
  }
  ShellResult launch(const std::string& more) const {
    const fs::path file = at.folder / "xp.toml";
    write(file, "[xp]\nroot_dir = '" + at.root.string() + "'\n[xp.jobs.main]\ntarget = '" +
                    script.string() + "'\ninterpreter = '/bin/sh'\nfiles = { data = '" +
                    data.string() +
                    "' }\nargs = [{ n = 1 }, '{file:data}']\n"
                    "[xp.orchestrator]\ntype = 'local/Orchestrator'\nmax_parallel = 1\ngrace = 1\n"
                    "[xp.sweep_info]\ntype = 'sweeps/ConfigSweep'\n");
    return at.trivet("launch --xp=" + quoted(file.string()) + " --sweep n=1,2 " + more);
  }
  std::string printed(int wid) const {
    return at.trivet("logs 1/" + std::to_string(wid) + "/main").output;
  }
};

}  // namespace

TEST_CASE("units use the files and scripts as of the launch") {
  const Changing job;
  const ShellResult launched = job.launch("");
  INFO(launched.output);
  REQUIRE(launched.exit_code == 0);
  REQUIRE(comes_true([&] { return job.at.state(1) == "completed"; }));
  write(job.script, job.text("v2"));
  write(job.data, "two\n");
  write(job.go, "");
  REQUIRE(comes_true([&] { return job.at.all_are("completed"); }));
  CHECK(job.printed(1) == "v1 one\n");
  CHECK(job.printed(2) == "v1 one\n");
  // Units that are added later use the current files and are other work.
  const ShellResult more = job.launch("--xid=1");
  CHECK_THAT(more.output,
             Contains("experiment 1  2 work units") && Contains("2 work units already existed"));
  REQUIRE(comes_true([&] { return job.at.all_are("completed"); }));
  CHECK(job.printed(4) == "v2 two\n");
  CHECK(job.printed(2) == "v1 one\n");
}

TEST_CASE("a restarted unit uses the files of its launch") {
  const Changing job;
  write(job.script, "cat $2; exit 1\n");
  REQUIRE(job.launch("").exit_code == 0);
  REQUIRE(comes_true([&] { return job.at.all_are("failed"); }));
  fs::remove(job.script);
  fs::remove(job.data);
  REQUIRE(job.at.trivet("retry 1/1").exit_code == 0);
  REQUIRE(comes_true([&] { return job.at.job(1).at("attempt") == 2; }));
  REQUIRE(comes_true([&] { return job.at.all_are("failed"); }));
  CHECK(job.printed(1) == "one\n");
}

TEST_CASE("a script that runs in place reports that it has changed") {
  const Changing job;
  write(job.go, "");
  write(job.script, "exit 1\n");
  REQUIRE(job.launch("--xp.snapshot=files").exit_code == 0);
  REQUIRE(comes_true([&] { return job.at.all_are("failed"); }));
  CHECK(job.printed(1).empty());
  write(job.script, "echo mended\n");
  REQUIRE(job.at.trivet("retry 1").exit_code == 0);
  REQUIRE(comes_true([&] { return job.at.all_are("completed"); }));
  CHECK_THAT(job.printed(1),
             Contains("main.sh has changed since the launch") && Contains("mended\n"));
}

TEST_CASE("a program is copied on request") {
  const Experiments at;
  const fs::path program = at.folder / "program";
  fs::copy_file("/bin/echo", program);
  const std::string words =
      "launch --xp=xp/single.toml --xp.orchestrator=local/Orchestrator "
      "--xp.root_dir=" +
      quoted(at.root.string()) + " --dry-run --json " + "--xp.target=" + quoted(program.string());
  const auto argv = [&](const std::string& more) {
    const auto plan = nlohmann::json::parse(at.trivet(words + more).output);
    return plan.at("units").at(0).at("jobs").at("main").at("argv").at(0).get<std::string>();
  };
  CHECK(argv("") == program.string());
  const std::string copy = argv(" --xp.snapshot=programs");
  CHECK(copy.starts_with((at.root / "1/files").string()));
  CHECK(copy.ends_with("/program"));
}

TEST_CASE("an executable script is started by the interpreter in its first line") {
  const Experiments at;
  const fs::path script = at.folder / "train.py";
  write(script, "#!/bin/sh\necho by sh\n", true);
  const ShellResult launched =
      at.trivet("launch --xp=xp/single.toml --xp.orchestrator=local/Orchestrator --xp.root_dir=" +
                quoted(at.root.string()) + " --xp.target=" + quoted(script.string()));
  INFO(launched.output);
  REQUIRE(launched.exit_code == 0);
  REQUIRE(comes_true([&] { return at.all_are("completed"); }));
  CHECK(at.trivet("logs 1/1/main").output == "by sh\n");
}

TEST_CASE("a job gets variables by name, and their values are recorded nowhere") {
  const Experiments at("type = 'local/Orchestrator'\ncores = 2\ngrace = 1\n",
                       "HF_TOKEN=s3cret HF_HOME=/hf OTHER=o ");
  const ShellResult launched =
      at.launch("echo $HF_TOKEN $HF_HOME $OTHER", 1, {}, "env_pass = ['HF_*']\n");
  INFO(launched.output);
  REQUIRE(launched.exit_code == 0);
  REQUIRE(comes_true([&] { return at.all_are("completed"); }));
  CHECK(at.trivet("logs 1/1/main").output == "s3cret /hf\n");
  for (const char* file : {"launch.toml", "units.jsonl", "experiment.json", "events.jsonl"}) {
    INFO(file);
    CHECK_THAT(read_file(at.root / "1" / file), !Contains("s3cret"));
  }
  CHECK_THAT(read_file(at.root / "1/units.jsonl"), Contains("HF_*"));
}

TEST_CASE("TRIVET_ROOT applies to writing and reading commands") {
  const Experiments at;
  const fs::path file = at.folder / "xp.toml";
  write(file,
        "[xp.jobs.main]\ntarget = '/bin/true'\n[xp.orchestrator]\n"
        "type = 'local/Orchestrator'\ncores = 2\n");
  const ShellResult launched = at.trivet("launch --xp=" + quoted(file.string()));
  INFO(launched.output);
  REQUIRE(launched.exit_code == 0);
  CHECK_THAT(launched.output, Contains((at.root / "1").string()) && !Contains("--root"));
  REQUIRE(comes_true([&] { return at.all_are("completed"); }));
  const ShellResult run = at.trivet("run " + quoted(config("vision/local.toml").string()) +
                                    " trainer.train_steps=1 task.eval_input.examples=64");
  INFO(run.output);
  REQUIRE(run.exit_code == 0);
  CHECK(fs::exists(at.root / "1-local/config.toml"));
  const std::string other = quoted((at.folder / "other").string());
  CHECK_THAT(
      at.trivet("launch --dry-run --root=" + other + " --xp=" + quoted(file.string())).output,
      Contains("other/1"));
}

}  // namespace launch_snapshot_test
