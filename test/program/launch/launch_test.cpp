// SPDX-License-Identifier: Apache-2.0
// `trivet launch` through the program: its plan, its records, and the errors before anything is
// created. The plugin paper replaces an orchestrator.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "launching.h"
#include "support/paths.h"

using namespace trivet::test;
using Catch::Contains;
using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

namespace {

constexpr const char* kTwoUnits =
    "[xp]\nname = 'first'\n"
    "[xp.jobs.train]\ntarget = '/bin/echo'\nplatform = 'cpu=2'\n"
    "args = { workdir = '{wu_dir}', n = 1, t = true, x = 1e-5, l = [1, 'a'], s = 'a b' }\n"
    "env = { A = 1, B = true, C = '{xp_dir}/x' }\n"
    "[xp.sweep_info]\ntype = 'sweeps/SimpleSweep'\n"
    "items = [{ batch_size = 32 }, { batch_size = 64 }]\n";

std::size_t lines_of(const fs::path& file) {
  std::ifstream in(file);
  std::size_t lines = 0;
  for (std::string line; std::getline(in, line);) ++lines;
  return lines;
}

}  // namespace

TEST_CASE("a dry run prints every unit with its directory, arguments and environment") {
  const Launching at;
  const Json plan = at.plan("--xp=" + quoted(at.write("xp.toml", kTwoUnits).string()));
  CHECK(plan.at("xid") == 1);
  CHECK(plan.at("xp_dir") == at.root() + "/1");
  REQUIRE(plan.at("units").size() == 2);
  const Json& unit = plan.at("units")[1];
  CHECK(unit.at("wid") == 2);
  CHECK(unit.at("wu_dir") == at.root() + "/1/2");
  CHECK(unit.at("sweep") == Json{{"batch_size", 64}});
  const Json& job = unit.at("jobs").at("train");
  CHECK(words(job.at("argv")) ==
        std::vector<std::string>{"/bin/echo", "--workdir=" + at.root() + "/1/2", "--n=1",
                                 "--t=true", "--x=1e-05", "--l=[1, \"a\"]", "--s=a b",
                                 "--batch_size=64"});
  CHECK(job.at("env") == Json{{"A", "1"}, {"B", "true"}, {"C", at.root() + "/1/x"}});
}

TEST_CASE("one program can be launched from only the command line") {
  const Launching at;
  const Json plan = at.plan("--xp=xp/single.toml --xp.target=ls --xp.args.x=3 --xp.note='a note'");
  CHECK(plan.at("xid") == 1);
  REQUIRE(plan.at("units").size() == 1);
  CHECK(plan.at("units")[0].at("sweep") == Json::object());
  CHECK_THAT(words(plan.at("units")[0].at("jobs").at("main").at("argv"))[0],
             Catch::EndsWith("/ls"));
  CHECK(words(plan.at("units")[0].at("jobs").at("main").at("argv"))[1] == "--x=3");
}

TEST_CASE("a run's config is launched with its sweep") {
  const Launching at;
  const fs::path config =
      at.write("run.toml", "base = ['" + trivet::test::config("vision/local.toml").string() +
                               "']\n[sweep.default]\nseed = [1, 2]\n[sweep.lr]\n"
                               "'trainer.learning_rate' = [0.1, 0.01]\n");
  const std::string cfg = "--cfg=" + quoted(config.string());
  CHECK(at.plan(cfg).at("units").size() == 1);
  CHECK(at.plan(cfg + " --xp.sweep=False").at("units").size() == 1);
  // The spelling of kxm.
  const Json plan = at.plan(cfg + " --cfg.trainer.train_steps=5 --xp.sweep=True");
  REQUIRE(plan.at("units").size() == 2);
  const Json& unit = plan.at("units")[0];
  CHECK(unit.at("wu_dir") == at.root() + "/1/1-seed=1");
  CHECK(words(unit.at("jobs").at("train").at("argv")) ==
        std::vector<std::string>{program().string(), "run", at.plugin_option(),
                                 "--cfg=" + at.root() + "/1/unit.toml",
                                 "--workdir=" + at.root() + "/1/1-seed=1", "--cfg.seed=1",
                                 "--set=trainer.train_steps=5"});
  CHECK(at.plan(cfg + " --xp.sweep=default,lr").at("units").size() == 4);
  CHECK(at.plan(cfg + " --xp.sweep='*'").at("units").size() == 4);
  CHECK(at.plan(cfg + " --sweep seed=1,2,3").at("units").size() == 3);
  CHECK(at.plan(cfg + " --sweep 'seed=range(0, 4)' --xp.sweep=lr").at("units").size() == 8);
  CHECK(at.plan(cfg + " --sweep seed=1,1").at("units").size() == 1);
}

TEST_CASE("training and evaluation are separate jobs on request") {
  const Launching at;
  const std::string cfg = "--cfg=" + quoted(trivet::test::config("vision/local.toml").string());
  const Json both = at.plan(cfg + " --xp.jobs_provider.standalone_eval=true");
  const Json& jobs = both.at("units")[0].at("jobs");
  CHECK(jobs.begin().key() == "train");
  CHECK_THAT(jobs.at("train").at("argv").dump(), Contains("--mode=train\""));
  CHECK_THAT(jobs.at("eval").at("argv").dump(), Contains("--mode=continuous_eval"));
  const Json eval = at.plan(cfg + " --cfg.mode=eval");
  CHECK(eval.at("units")[0].at("jobs").size() == 1);
  CHECK(eval.at("units")[0].at("jobs").contains("eval"));
}

TEST_CASE("a run has further evaluations, each in a job of its own") {
  const Launching at;
  const std::string cfg = "--cfg=" + quoted(trivet::test::config("vision/local.toml").string());
  const std::string evals = " --xp.jobs_provider.type=trivet/ConfigJobs --xp.jobs_provider.evals=";
  const Json jobs =
      at.plan(cfg + evals +
              quoted("{long = {\"task.eval_input.examples\" = 2048, \"task.eval_input\" = "
                     "{batch_size = 64}}, small = {}}") +
              " --xp.jobs.long.cores=2")
          .at("units")[0]
          .at("jobs");
  CHECK(jobs.size() == 3);
  const std::string words = jobs.at("long").at("argv").dump();
  CHECK_THAT(words, Contains("--mode=continuous_eval") && Contains("--eval-name=long") &&
                        Contains("--cfg.task.eval_input.examples=2048") &&
                        Contains("--cfg.task.eval_input={batch_size = 64}"));
  CHECK(jobs.at("long").at("cores") == 2);
  CHECK(jobs.at("small").at("cores") == 1);
  CHECK(jobs.begin().key() == "train");
  CHECK_THAT(jobs.at("train").at("argv").dump(), !Contains("--mode"));
  const auto refusal = [&](const std::string& text, const std::string& more = {}) {
    return at.refusal(cfg + evals + quoted(text) + more);
  };
  CHECK_THAT(refusal("{long = {\"task.eval_input.exmples\" = 4}}"),
             Contains("did you mean 'examples'"));
  CHECK_THAT(refusal("{long = {task.eval_input.examples = 4}}"),
             Contains("would replace all of [task]") && Contains("in quotes"));
  CHECK_THAT(refusal("{train = {}}"), Contains("'train' is the name of another job"));
  CHECK_THAT(refusal("{'a/b' = {}}"), Contains("is no name of a directory"));
  CHECK_THAT(refusal("{'..' = {}}"), Contains("is no name of a directory"));
  CHECK_THAT(refusal("{long = {}}", " --cfg.mode=eval"), Contains("there is no run to follow"));
  CHECK_THAT(
      refusal("{long = {\"task.eval_input.seed\" = 1}}", " --sweep task.eval_input.seed=1,2"),
      Contains("'cfg.task.eval_input.seed' is both swept and set"));
}

TEST_CASE("fields of the experiment are a fallback for its jobs") {
  const Launching at;
  const std::string xp =
      quoted(at.write("xp.toml",
                      "[xp]\nargs = { a = 1, b = 2 }\nenv = { E = 'all' }\ntarget = '/bin/echo'\n"
                      "[xp.jobs.one]\nargs = { b = 3 }\n[xp.jobs.two]\ntarget = '/bin/ls'\n"
                      "env = { E = 'own' }\n")
                 .string());
  const Json jobs = at.plan("--xp=" + xp).at("units")[0].at("jobs");
  CHECK(jobs.at("one").at("argv") == Json{"/bin/echo", "--a=1", "--b=3"});
  CHECK(jobs.at("two").at("argv") == Json{"/bin/ls", "--a=1", "--b=2"});
  CHECK(jobs.at("one").at("env") == Json{{"E", "all"}});
  CHECK(jobs.at("two").at("env") == Json{{"E", "own"}});
}

TEST_CASE("words and named arguments keep their order") {
  const Launching at;
  const std::string xp =
      quoted(at.write("xp.toml",
                      "[xp.jobs.a]\ntarget = '/bin/echo'\n"
                      "args = ['run', { x = 1 }, '--flag', \"a\\nb ' \\\"\", { y = 2, x = 3 }]\n"
                      "[xp.sweep_info]\ntype = 'sweeps/SimpleSweep'\nitems = [{ x = 9, z = 0 }]\n")
                 .string());
  CHECK(at.plan("--xp=" + xp).at("units")[0].at("jobs").at("a").at("argv") ==
        Json{"/bin/echo", "run", "--x=9", "--flag", "a\nb ' \"", "--y=2", "--z=0"});
}

TEST_CASE("scripts and files are copied to the experiment for its units") {
  const Launching at;
  at.write("x.py", "print(1)\n");
  at.write("my file.gin", "a\n");
  const std::string xp =
      quoted(at.write("xp.toml", "[xp.jobs.a]\ntarget = '" + (at.folder / "x.py").string() +
                                     "'\nargs = { gin = 'f:{file:my.gin}', brace = '{{x}}' }\n"
                                     "files = { 'my.gin' = '" +
                                     (at.folder / "my file.gin").string() + "' }\n")
                 .string());
  const auto argv = words(at.plan("--xp=" + xp).at("units")[0].at("jobs").at("a").at("argv"));
  REQUIRE(argv.size() == 4);
  CHECK_THAT(argv[0], Catch::EndsWith("python3"));
  CHECK_THAT(argv[1], Catch::StartsWith(at.root() + "/1/files/") && Catch::EndsWith("/x.py"));
  CHECK_THAT(argv[2], Catch::StartsWith("--gin=f:" + at.root() + "/1/files/") &&
                          Catch::EndsWith("/my file.gin"));
  CHECK(argv[3] == "--brace={x}");
}

TEST_CASE("plugins can add placeholders and sweeps") {
  const Launching at;
  const std::string xp = quoted(
      at.write(
            "xp.toml",
            "[xp]\nname = 'n'\n[xp.jobs.a]\ntarget = '/bin/echo'\n"
            "args = { where = '{floor} {sweep_kwargs}' }\n[xp.sweep_info]\ntype = 'paper/Twice'\n"
            "[xp.subdir_format]\ntype = 'paper/Floors'\nxp_dirname = '{xid}-{name}'\n"
            "wu_dirname = 'floor{floor}/{wid}'\n")
          .string());
  const Json plan = at.plan("--xp=" + xp);
  CHECK(plan.at("xp_dir") == at.root() + "/1-n");
  CHECK(plan.at("units")[1].at("wu_dir") == at.root() + "/1-n/floor2/2");
  CHECK(plan.at("units")[1].at("jobs").at("a").at("argv")[1] == "--where=2 r=two");
  // Listings show the same arguments of a unit as directories.
  const ShellResult launched = at.launch("--xp=" + xp);
  INFO(launched.output);
  REQUIRE(launched.exit_code == 0);
  const std::string locations = "TRIVET_ROOT=" + quoted(at.root()) +
                                " XDG_RUNTIME_DIR=" + quoted(at.folder.path().string()) + " ";
  const std::string plugins = " --plugin-dir=" + quoted(at.plugins.path().string());
  const Json units =
      Json::parse(trivet::test::trivet("status 1 --json" + plugins, locations).output).at("units");
  CHECK(units[0].at("sweep") == Json{{"round", 1}});
  CHECK(units[1].at("sweep") == Json{{"r", "two"}});
  CHECK_THAT(trivet::test::trivet("ls", locations).output, Contains("two"));
}

TEST_CASE("launching again adds missing units") {
  const Launching at;
  const std::string xp = "--xp=" + quoted(at.write("xp.toml", kTwoUnits).string());
  const ShellResult first = at.launch(xp);
  INFO(first.output);
  REQUIRE(first.exit_code == 0);
  CHECK_THAT(first.output, Contains("experiment 1  2 work units"));
  const fs::path units = at.folder / "root/1/units.jsonl";
  CHECK(lines_of(units) == 2);
  CHECK(lines_of(at.folder / "root/1/events.jsonl") == 2);
  CHECK_THAT(at.launch(xp + " --xid=1").output, Contains("2 work units already existed"));
  CHECK(lines_of(units) == 2);
  const std::string more = at.launch(xp +
                                     " --xid=1 --xp.jobs.train.cores=3 --json "
                                     "--xp.sweep_info.items='[{batch_size=64},{batch_size=8}]'")
                               .output;
  CHECK(Json::parse(more).at("units").at(0).at("wid") == 3);
  CHECK(lines_of(units) == 3);
  CHECK_THAT(at.launch(xp).output, Contains("experiment 2  2 work units"));
  // Only its owner may read it.
  CHECK((fs::status(at.folder / "root/1").permissions() & fs::perms(077)) == fs::perms::none);
  CHECK((fs::status(units).permissions() & fs::perms(077)) == fs::perms::none);
}

TEST_CASE("an experiment can be launched again from its record") {
  const Launching at;
  const std::string cfg = "--cfg=" + quoted(trivet::test::config("vision/local.toml").string());
  REQUIRE(at.launch(cfg + " --sweep seed=1,2").exit_code == 0);
  const std::string record = quoted((at.folder / "root/1/launch.toml").string());
  const ShellResult again = at.launch(record + " --xid=1 --sweep seed=2,3");
  INFO(again.output);
  CHECK_THAT(again.output,
             Contains("experiment 1  1 work unit ") && Contains("2 work units already existed"));
  // The record has the sweeps of both launches.
  const ShellResult third = at.launch(record + " --xid=1");
  INFO(third.output);
  CHECK_THAT(third.output, Contains("0 work units") && Contains("3 work units already existed"));
  const ShellResult other = at.launch(record + " --xid=1 --xp.sweep=false");
  CHECK_THAT(other.output, Contains("1 work unit ") && Contains("3 work units already existed"));
}

TEST_CASE("launching a record again adds the units whose lines are damaged, with new numbers") {
  const Launching at;
  const std::string cfg = "--cfg=" + quoted(trivet::test::config("vision/local.toml").string());
  REQUIRE(at.launch(cfg + " --sweep seed=1,2,3").exit_code == 0);
  const std::string record = quoted((at.folder / "root/1/launch.toml").string());
  const fs::path units = at.folder / "root/1/units.jsonl";
  const auto damage = [&](int wid) {
    std::string text = read_file(units);
    const std::size_t line = text.find("{\"wid\":" + std::to_string(wid) + ",");
    REQUIRE(line != std::string::npos);
    at.write("root/1/units.jsonl", text.replace(line, 1, "X"));
  };
  const auto added = [&] {
    const Json units_of = Json::parse(at.launch(record + " --xid=1 --json").output).at("units");
    REQUIRE(units_of.size() == 1);
    return std::pair(units_of.at(0).at("wid").get<int>(),
                     units_of.at(0).at("sweep").at("seed").get<int>());
  };
  damage(2);
  CHECK(added() == std::pair(4, 2));
  // The events of the last unit are not those of the one that takes over its work.
  damage(4);
  CHECK(added() == std::pair(5, 2));
  CHECK_THAT(at.launch(record + " --xid=1").output, Contains("3 work units already existed"));
}

TEST_CASE("errors are reported before anything is created") {
  const Launching at;
  const std::string xp = "--xp=" + quoted(at.write("xp.toml", kTwoUnits).string()) + " ";
  const std::string cfg =
      "--cfg=" + quoted(trivet::test::config("vision/local.toml").string()) + " ";
  // D1: an option must not be ignored in favor of a file.
  CHECK_THAT(at.refusal(xp + "--xp.platform=cpu=4"),
             Contains("the job 'train' has its own platform") && Contains("xp.toml:5:12") &&
                 Contains("--xp.jobs.train.platform="));
  // D2.
  CHECK_THAT(at.refusal(cfg + "--xp.sweep=true"), Contains("there is no [sweep.default]"));
  CHECK_THAT(at.refusal(cfg + "--xp.sweep=lr"), Contains("there is no sweep 'lr'"));
  CHECK_THAT(at.refusal(xp + "--xp.sweep_info.items='[]'"), Contains("has no items"));
  // D4.
  CHECK_THAT(at.refusal(cfg + "--cfg.seed=3 --sweep seed=1,2"), Contains("both swept and set"));
  CHECK_THAT(at.refusal(xp + "--xp.args.batch_size=3"), Contains("both swept and set"));
  // D5 and D6: typos, and values of another type, of every unit.
  CHECK_THAT(at.refusal(cfg + "--sweep sed=1,2"), Contains("did you mean 'seed'") &&
                                                      Contains("item 1 of the sweep: sed=1") &&
                                                      !Contains("sed=2"));
  CHECK_THAT(at.refusal(cfg + "--sweep seed=1,x"), Contains("item 2 of the sweep: seed=x"));
  CHECK_THAT(at.refusal(xp + "--xp.platfrom=cpu"), Contains("did you mean 'platform'"));
  // D8.
  CHECK_THAT(at.refusal("--xp=xp/single.toml"), Contains("job 'main' has no target"));
  CHECK_THAT(at.refusal(xp + "--xp.subdir_format.wu_dirname='{wid}-{nope}'"),
             Contains("unknown placeholder {nope}") && Contains("{sweep_kwargs}"));
  CHECK_THAT(at.refusal(xp + "--xp.subdir_format.wu_dirname='{cell}'"), Contains("no cell"));
  CHECK_THAT(at.refusal(xp + "--xp.subdir_format.wu_dirname=x"),
             Contains("units 1 and 2 would share"));
  for (const char* out : {"..", "../x", "/tmp/x", "a/../../b", ""}) {
    CHECK_THAT(at.refusal(xp + "--xp.subdir_format.xp_dirname=" + quoted(out)),
               Contains("is not a directory below"));
  }
  CHECK_THAT(at.refusal(xp + "--xp.jobs.train.target=no-such-program"),
             Contains("no such program: 'no-such-program'"));
  CHECK_THAT(at.refusal(xp + "--xp.jobs.train.target=/no/such.py"),
             Contains("no such script: '/no/such.py'"));
  CHECK_THAT(at.refusal(xp + "--xp.jobs.train.files.x=/no/file"),
             Contains("no such file: '/no/file'"));
  CHECK_THAT(at.refusal(xp + "--xp.jobs.train.args.x='{file:y}'"),
             Contains("the job's `files` contain no 'y'"));
  CHECK_THAT(at.refusal(xp + "--xp.jobs.train.args.x='{cfg}'"), Contains("no run config"));
  CHECK_THAT(at.refusal(xp + "--xp.jobs.train.after='[\"train\"]'"),
             Contains("wait for each other: train -> train"));
  CHECK_THAT(at.refusal(xp + "--xp.jobs.train.after='[\"trian\"]'"),
             Contains("unknown job 'trian'") && Contains("did you mean 'train'"));
  CHECK_THAT(at.refusal(xp + "--xp.jobs.train.platform=cpu=99"), Contains("not so many cores"));
  CHECK_THAT(at.refusal(xp + "--xp.orchestrator=papre/Orchestrator"),
             Contains("there is no orchestrator"));
  CHECK_THAT(at.refusal(""), Contains("nothing to launch"));
}

TEST_CASE("a read-only root directory is a separate error") {
  const Launching at;
  const ShellResult result = at.launch("--xp=" + quoted(at.write("xp.toml", kTwoUnits).string()) +
                                       " --xp.root_dir=/proc/nowhere");
  CHECK(result.exit_code == 1);
  CHECK_THAT(result.output, Contains("/proc/nowhere"));
}
