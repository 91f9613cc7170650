// SPDX-License-Identifier: Apache-2.0
// Jobs get the values of the user: of the command line, of the experiment, of a job and of a
// provider, in tables and lists. Other values are rejected.
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "launching.h"
#include "program/run/run_fixture.h"
#include "support/paths.h"

namespace launch_values_test {

using namespace trivet::test;
using Catch::Contains;
using Json = nlohmann::ordered_json;

namespace {

using Words = std::vector<std::string>;

// A job of the first unit in a plan.
Json job_of(const Json& plan, const std::string& job) {
  return plan.at("units").at(0).at("jobs").at(job);
}

Words argv_of(const Json& plan, const std::string& job) {
  return words(job_of(plan, job).at("argv"));
}

std::string local_config() {
  return "--cfg=" + quoted(config("vision/local.toml").string()) + " ";
}

constexpr const char* kListAndTable =
    "[xp.jobs.main]\ntarget = '/bin/echo'\nargs = ['run', { x = 1 }, 'end']\nenv = { A = 'file' }\n"
    "[xp.jobs.tab]\ntarget = '/bin/echo'\nargs = { x = 1 }\n";

}  // namespace

TEST_CASE("an argument or variable of the command line reaches every job or is an error") {
  const Launching at;
  const std::string xp = at.xp(kListAndTable);
  const Json plan = at.plan(xp + "--xp.args.lr=5 --xp.env.B=2");
  CHECK(argv_of(plan, "main") == Words{"/bin/echo", "run", "--x=1", "end", "--lr=5"});
  CHECK(argv_of(plan, "tab") == Words{"/bin/echo", "--lr=5", "--x=1"});
  CHECK(job_of(plan, "main").at("env") == Json{{"B", "2"}, {"A", "file"}});
  CHECK_THAT(at.refusal(xp + "--xp.args.x=5"), Contains("the job 'main' has its own args.x (") &&
                                                   Contains("xp.toml:3:22") &&
                                                   Contains("the job 'tab' has its own args.x") &&
                                                   Contains("--xp.jobs.tab.args.x=..."));
  CHECK_THAT(at.refusal(xp + "--xp.env.A=1"), Contains("the job 'main' has its own env.A"));
  CHECK_THAT(at.refusal(xp + "--xp.args='[\"a\"]'"), Contains("the job 'main' has its own args"));
  // Equal values are not a conflict, and the job's option decides.
  CHECK(argv_of(at.plan(xp + "--xp.args.x=1"), "tab") == Words{"/bin/echo", "--x=1"});
  const std::string both = "--xp.args.x=5 --xp.jobs.tab.args.x=6 --xp.jobs.main.args='[\"b\"]'";
  CHECK(argv_of(at.plan(xp + both), "tab") == Words{"/bin/echo", "--x=6"});
  CHECK(argv_of(at.plan(xp + both), "main") == Words{"/bin/echo", "b", "--x=5"});
  // A value inside a table is not lost either.
  const std::string nested = at.xp("[xp.jobs.a]\ntarget = '/bin/echo'\nargs = { d = { e = 1 } }\n");
  CHECK_THAT(at.refusal(nested + "--xp.args.d.f=2"), Contains("the job 'a' has its own args.d"));
}

TEST_CASE("arguments of an experiment's file reach jobs whose arguments are a list") {
  const Launching at;
  const Json plan = at.plan(
      at.xp("[xp]\ntarget = '/bin/echo'\nargs = { lr = 1, x = 2 }\n"
            "[xp.jobs.a]\nargs = ['run', { x = 3 }]\n[xp.jobs.b]\nargs = ['-v']\n[xp.jobs.c]\n"));
  CHECK(argv_of(plan, "a") == Words{"/bin/echo", "run", "--x=3", "--lr=1"});
  CHECK(argv_of(plan, "b") == Words{"/bin/echo", "-v", "--lr=1", "--x=2"});
  CHECK(argv_of(plan, "c") == Words{"/bin/echo", "--lr=1", "--x=2"});
}

TEST_CASE("arguments for a run of this program are added to its own") {
  const Launching at;
  const Words plain = argv_of(at.plan(local_config()), "train");
  Words wanted = plain;
  wanted.emplace_back("--mode=eval");
  CHECK(argv_of(at.plan(local_config() + "--xp.jobs.train.args.mode=eval"), "train") == wanted);
  CHECK(argv_of(at.plan(local_config() + "--xp.args.mode=eval"), "train") == wanted);
  // In the position of the existing one.
  const Words moved = argv_of(
      at.plan(local_config() + "--xp.jobs.train.args.workdir=/w --xp.args.root=/r"), "train");
  CHECK(moved == Words{plain[0], "run", plain[2], plain[3], "--workdir=/w", "--root=/r"});
  CHECK_THAT(at.refusal(local_config() + "--xp.args.workdir=/w"),
             Contains("the job 'train' has its own args.workdir"));
}

TEST_CASE("the value of a job has priority, even if it is empty") {
  const Launching at;
  const std::string all =
      "[xp]\nretries = 3\ngpus = 2\ncell = 'jn'\ninterpreter = 'bash'\nmemory = '1GiB'\n"
      "cores = 2\npriority = 25\ntime_limit = '1h'\nplatform = 'cuda'\nafter = ['b']\n"
      "target = '/bin/true'\n";
  const std::string nothing =
      "retries = 0\ngpus = 0\ncell = ''\ninterpreter = ''\nmemory = 0\ncores = 0\n"
      "priority = 0\ntime_limit = '0s'\nplatform = ''\nafter = []\n";
  const auto is_nothing = [](const Json& job) {
    CHECK(job.at("argv") == Json{"/bin/true"});
    CHECK(job.at("retries") == 0);
    CHECK(job.at("gpus") == 0);
    CHECK(job.at("cell") == "");
    CHECK(job.at("memory_bytes") == 0);
    CHECK(job.at("cores") == 1);
    CHECK(job.at("priority") == 0);
    CHECK(job.at("time_limit_seconds") == 0);
    CHECK(job.at("platform") == "cpu");
    CHECK(job.at("after") == Json::array());
  };
  const Json plan = at.plan(at.xp(all + "[xp.jobs.a]\n[xp.jobs.b]\n" + nothing));
  is_nothing(job_of(plan, "b"));
  CHECK(job_of(plan, "a").at("retries") == 3);
  CHECK(job_of(plan, "a").at("gpus") == 2);
  CHECK(job_of(plan, "a").at("cell") == "jn");
  CHECK(job_of(plan, "a").at("after") == Json{"afterok:b"});
  std::string options;
  for (const char* option : {"retries=0", "gpus=0", "cell=", "interpreter=", "memory=0", "cores=0",
                             "priority=0", "time_limit=0s", "platform=", "after=[]"}) {
    options += " " + quoted(std::string("--xp.jobs.b.") + option);
  }
  is_nothing(job_of(at.plan(at.xp(all + "[xp.jobs.a]\n[xp.jobs.b]\n") + options), "b"));
}

TEST_CASE("a job can ignore the swept values") {
  const Launching at;
  const std::string xp =
      "[xp]\ntarget = '/bin/echo'\n[xp.jobs.train]\n[xp.jobs.report]\nswept = false\n"
      "[xp.jobs.plot]\nswept = ['seed']\n";
  const Json plan = at.plan(at.xp(xp) + "--sweep lr=1 --sweep seed=2");
  CHECK(argv_of(plan, "train") == Words{"/bin/echo", "--lr=1", "--seed=2"});
  CHECK(argv_of(plan, "report") == Words{"/bin/echo"});
  CHECK(argv_of(plan, "plot") == Words{"/bin/echo", "--seed=2"});
  CHECK_THAT(at.refusal(at.xp(xp) + "--xp.jobs.train.swept=false --sweep lr=1,2"),
             Contains("'lr' is swept, but no job takes it"));
  CHECK_THAT(at.refusal(at.xp(xp) + "--xp.jobs.train.swept=3"), Contains("a list of names"));
  // A name of another sweep is fine, one that is almost swept is a typo.
  CHECK(at.plan(at.xp(xp) + "'--xp.jobs.plot.swept=[\"seed\",\"units\"]' --sweep seed=2")
            .at("units")
            .size() == 1);
  CHECK_THAT(
      at.refusal(at.xp(xp) + "'--xp.jobs.plot.swept=[\"sed\"]' --sweep lr=1 --sweep seed=2"),
      Contains("xp.jobs.plot.swept: 'sed' is not swept") && Contains("did you mean 'seed'?"));
}

TEST_CASE("a sweep on the command line needs no sweep_info") {
  const Launching at;
  const Json plan = at.plan(at.xp("[xp.jobs.a]\ntarget = '/bin/echo'\n") + "--sweep x=1,2");
  CHECK(plan.at("units").size() == 2);
  CHECK(argv_of(plan, "a") == Words{"/bin/echo", "--x=1"});
  const std::string run = at.xp("base = ['" + config("vision/local.toml").string() +
                                "']\n[xp]\njobs_provider = 'trivet/ConfigJobs'\n");
  CHECK_THAT(argv_of(at.plan(run + "--sweep seed=7"), "train").back(), Contains("--cfg.seed=7"));
}

TEST_CASE("a sweep on the command line is combined with that of the file under any name") {
  const Launching at;
  const std::string file = at.xp(
      "[xp.jobs.a]\ntarget = '/bin/echo'\n[xp.sweep_info]\ntype = 'sweeps/ConfigSweep'\n"
      "[sweep.'command line']\nseed = [1, 2, 3]\n");
  CHECK(at.plan(file + "'--xp.sweep=command line'").at("units").size() == 3);
  CHECK(at.plan(file + "'--xp.sweep=command line' --sweep x=1,2").at("units").size() == 6);
}

TEST_CASE("equal items are reported, and repeats must be requested") {
  const Launching at;
  const std::string xp = at.xp(
      "[xp.jobs.a]\ntarget = '/bin/echo'\n[xp.sweep_info]\ntype = 'sweeps/SimpleSweep'\n"
      "items = [{ a = 1 }, { a = 1 }, {}, {}]\n");
  CHECK(at.plan(xp).at("units").size() == 2);
  CHECK(at.plan(xp).at("duplicates") == 2);
  CHECK_THAT(at.launch(xp + "--dry-run").output,
             Contains("2 items of the sweep are equal to another") && Contains("xp.repeats"));
  const std::string repeated = at.xp("[xp.jobs.a]\ntarget = '/bin/echo'\nargs = ['{repeat}']\n");
  const Json plan = at.plan(repeated + "--xp.repeats=3");
  REQUIRE(plan.at("units").size() == 3);
  CHECK(plan.at("duplicates") == 0);
  CHECK(plan.at("units").at(2).at("jobs").at("a").at("argv") == Json{"/bin/echo", "3"});
  CHECK_THAT(at.launch(repeated + "--xp.repeats=2").output, Contains("2 work units"));
  const std::string more = at.launch(repeated + "--xp.repeats=3 --xid=1").output;
  CHECK_THAT(more, Contains("1 work unit ") && Contains("2 work units already existed"));
}

TEST_CASE("adding to a missing experiment is an error") {
  const Launching at;
  const std::string xp = at.xp("[xp.jobs.a]\ntarget = '/bin/echo'\n");
  CHECK_THAT(at.refusal(xp + "--xid=77"), Contains("experiment 77 does not exist in " + at.root()));
  CHECK_THAT(at.refusal(xp + "--xid=77 --dry-run"), Contains("experiment 77 does not exist"));
}

TEST_CASE("a root directory may use the placeholders that are known at that time") {
  const Launching at;
  const std::string xp =
      at.xp("[xp]\ncell = 'jn'\nname = 'n'\n[xp.jobs.a]\ntarget = '/bin/echo'\n");
  CHECK(at.plan(xp + "--root=" + quoted(at.root() + "/{cell}/{name}")).at("xp_dir") ==
        at.root() + "/jn/n/1");
  CHECK_THAT(at.refusal(xp + "--root=" + quoted(at.root() + "/{xid}")),
             Contains("{xid} has no value here"));
}

TEST_CASE("names and strings that cannot be passed to a program are rejected") {
  const Launching at;
  const auto refusal = [&](const std::string& args) {
    return at.refusal(at.xp("[xp.jobs.a]\ntarget = '/bin/echo'\n" + args + "\n"));
  };
  CHECK_THAT(refusal("args = { '' = 1 }"), Contains("'' is no name of an argument"));
  CHECK_THAT(refusal("args = ['x', { '--x' = 3 }]"), Contains("'--x' is no name of an argument"));
  CHECK_THAT(refusal("args = { x = ['a\", \"'], y = \"a\\u0000b\" }"), Contains("zero byte"));
  CHECK_THAT(refusal("env = { X = \"a\\u0000b\" }"), Contains("zero byte"));
  const std::string swept = "[xp.sweep_info]\ntype = 'sweeps/SimpleSweep'\nitems = [{ '--x' = 1 }]";
  CHECK_THAT(refusal(swept), Contains("'--x' is swept, but is not an argument name"));
}

TEST_CASE("GPUs of several dimensions are not treated as those of one machine") {
  const Launching at;
  const std::string xp = at.xp("[xp.jobs.a]\ntarget = '/bin/echo'\n");
  CHECK_THAT(at.refusal(xp + "--xp.platform=v100=4x2"),
             Contains("has 2 replicas, but paper/Orchestrator starts one process"));
  CHECK(job_of(at.plan(xp + "--xp.platform=v100=4"), "a").at("gpus") == 4);
}

TEST_CASE("all errors in jobs are reported at once with their locations") {
  const Launching at;
  const std::string told = at.refusal(at.xp(
      "[xp.jobs.a]\ntarget = '/no/a'\n[xp.jobs.b]\ntarget = '/no/b'\nfiles = { f = '/no/f' }\n"
      "[xp.jobs.c]\n[xp.jobs.d]\ntarget = '/bin/echo'\nafter = ['e']\n"));
  CHECK_THAT(told, Contains("no such program: '/no/a'") && Contains("xp.toml:1:"));
  CHECK_THAT(told, Contains("no such program: '/no/b'") && Contains("xp.toml:3:"));
  CHECK_THAT(told, Contains("no such file: '/no/f'"));
  CHECK_THAT(told, Contains("job 'c' has no target") && Contains("xp.toml:6:"));
  CHECK_THAT(told, Contains("unknown job 'e'") && Contains("xp.toml:7:"));
  const std::string xp = at.xp("[xp.jobs.train]\ntarget = '/bin/echo'\n");
  CHECK_THAT(at.refusal(xp + "--xp.jobs.trian.cores=2"), Contains("did you mean 'train'"));
}

TEST_CASE("a dry run prints the resources and dependencies of jobs") {
  const Launching at;
  const std::string xp = at.xp(
      "[xp]\nname = 'n'\ntags = 'one,two'\n[xp.jobs.a]\ntarget = '/bin/echo'\nplatform = 'cuda=2'\n"
      "memory = '1KiB'\ntime_limit = '2m'\nretries = 3\npriority = 25\ncell = 'jn'\n"
      "env_pass = ['HF_*']\n[xp.jobs.b]\ntarget = '/bin/echo'\ncores = 4\n"
      "after = ['afterany:a']\n");
  CHECK_THAT(at.launch(xp + "--dry-run").output,
             Contains("name n, paper/Orchestrator, tag one, tag two") &&
                 Contains("1 core, 2 GPUs (cuda), memory 1024 bytes, at most 120 s, 3 retries, "
                          "priority 25, cell jn, $HF_*\n") &&
                 Contains("4 cores, afterany:a\n"));
  const Json plan = at.plan(xp);
  CHECK(plan.at("name") == "n");
  CHECK(plan.at("tags") == Json{"one", "two"});
  CHECK(job_of(plan, "a").at("time_limit_seconds") == 120);
  CHECK(job_of(plan, "b").at("after") == Json{"afterany:a"});
}

TEST_CASE("a job with its own mode keeps it when overrides are repeated") {
  const Launching at;
  const std::string both =
      quoted(config("vision/local.toml").string()) + " --xp.jobs_provider.standalone_eval=true ";
  const Json plan = at.plan(both + "mode=train '**.dropout=0.1' --sweep seed=1,2");
  const Words eval = argv_of(plan, "eval");
  CHECK_THAT(eval, Catch::VectorContains(std::string("--mode=continuous_eval")) &&
                       Catch::VectorContains(std::string("--set=**.dropout=0.1")) &&
                       !Catch::VectorContains(std::string("--set=mode=train")));
  CHECK_THAT(at.refusal(both + "--sweep mode=train,eval"), Contains("has its own mode"));
}

}  // namespace launch_values_test
