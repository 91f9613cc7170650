// SPDX-License-Identifier: Apache-2.0
// The README of Kauldron's XManager launcher (kxm), example by example and in its order: Python
// becomes TOML, packages become programs, and the result of each is checked here. Its examples in
// code are in launch_api_test.cpp.
#include <filesystem>
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

// examples/mnist_autoencoder.py: a run's config with a `def sweep()`.
std::string autoencoder(const Launching& at) {
  return "--cfg=" +
         quoted(at.write("mnist_autoencoder.toml", "base = ['" +
                                                       config("vision/local.toml").string() +
                                                       "']\n[sweep.default]\nseed = [0, 1]\n")
                    .string()) +
         " ";
}

Json unit_of(const Json& plan, std::size_t index) {
  return plan.at("units").at(index);
}

std::vector<std::string> argv_of(const Json& plan, std::size_t unit, const std::string& job) {
  return words(unit_of(plan, unit).at("jobs").at(job).at("argv"));
}

// The job of the first unit, as recorded by a real launch.
Json recorded_job(const Launching& at, const std::string& words, const std::string& name) {
  const ShellResult result = at.launch(words);
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  const std::string lines = read_file(at.folder / "root/1/units.jsonl");
  const Json unit = Json::parse(lines.substr(0, lines.find('\n')));
  for (const Json& job : unit.at("jobs")) {
    if (job.at("name") == name) return job;
  }
  FAIL("unknown job " << name);
  return {};
}

}  // namespace

TEST_CASE("kxm, tl;dr: a training with a sweep and a platform") {
  const Launching at;
  const std::string words =
      autoencoder(at) +
      "--cfg.task.train_input.batch_size=32 --xp.sweep=True --xp.platform=jf=2x2 ";
  const Json plan = at.plan(words);
  REQUIRE(plan.at("units").size() == 2);
  CHECK(unit_of(plan, 1).at("sweep") == Json{{"seed", 1}});
  const std::string xp_dir = at.root() + "/1";
  CHECK(argv_of(plan, 1, "train") ==
        std::vector<std::string>{program().string(), "run", at.plugin_option(),
                                 "--cfg=" + xp_dir + "/unit.toml",
                                 "--workdir=" + xp_dir + "/2-seed=1", "--cfg.seed=1",
                                 "--set=task.train_input.batch_size=32"});
  const Json job = recorded_job(at, words, "train");
  CHECK(job.at("platform") == "jf");
  CHECK(job.at("gpus") == 4);  // chips: the product of the topology
  CHECK_THAT(read_file(at.folder / "root/1/config.toml"), Contains("batch_size = 32"));
}

TEST_CASE("kxm, tl;dr: a single program of the user") {
  const Launching at;
  const std::string words =
      "--xp=xp/single.toml --xp.target=/bin/echo --xp.platform=df=2x2 --xp.args.lr=0.1 ";
  CHECK(argv_of(at.plan(words), 0, "main") == std::vector<std::string>{"/bin/echo", "--lr=0.1"});
  const Json job = recorded_job(at, words, "main");
  CHECK(job.at("platform") == "df");
  CHECK(job.at("gpus") == 4);
}

TEST_CASE("kxm, usage: parameters are set for one job or for all jobs") {
  const Launching at;
  const std::string xp = at.xp(
      "[xp]\ncell = 'jn'\nplatform = 'cpu=2'\ntarget = '/bin/echo'\n"
      "[xp.jobs.train]\nplatform = 'jf=2x2'\n[xp.jobs.eval]\n");
  CHECK(recorded_job(at, xp, "train").at("platform") == "jf");
  const Json eval = recorded_job(at, xp + "--xid=1 ", "eval");
  CHECK(eval.at("platform") == "cpu");
  CHECK(eval.at("cores") == 2);
  CHECK(eval.at("cell") == "jn");
}

TEST_CASE("kxm, CLI: every field of a config can be overridden") {
  const Launching at;
  const std::string words =
      at.xp(
          "[xp]\ntarget = '/bin/echo'\n[xp.jobs.train]\nplatform = 'jf=2x2'\n[xp.jobs.eval]\n"
          "platform = 'jf=2x2'\n[xp.subdir_format]\nxp_dirname = '{xid}-{cell}'\n") +
      "--xp.jobs.train.platform=df=4x4 --xp.jobs.eval.platform=cpu --xp.cell=jn "
      "--xp.note='My experiment description' ";
  CHECK(at.plan(words).at("xp_dir") == at.root() + "/1-jn");
  REQUIRE(at.launch(words).exit_code == 0);
  const fs::path xp_dir = at.folder / "root/1-jn";
  CHECK(json_of(xp_dir / "experiment.json").at("note") == "My experiment description");
  const std::string units = read_file(xp_dir / "units.jsonl");
  const Json jobs = Json::parse(units).at("jobs");
  CHECK(jobs.at(0).at("platform") == "df");
  CHECK(jobs.at(0).at("gpus") == 16);
  CHECK(jobs.at(1).at("platform") == "cpu");
  CHECK(jobs.at(1).at("gpus") == 0);
}

TEST_CASE("kxm, CLI: the config for trainers is the default and may be named") {
  const Launching at;
  const std::string words = autoencoder(at) + "--xp.sweep=True ";
  CHECK(at.plan(words) == at.plan(words + "--xp=xp/trainer.toml "));
}

TEST_CASE("kxm, how to: an explicit sweep passes its values to the program") {
  const Launching at;
  const Json plan =
      at.plan(at.xp("[xp.jobs.train]\ntarget = '/bin/echo'\n[xp.sweep_info]\ntype = "
                    "'sweeps/SimpleSweep'\nitems = [{ batch_size = 32 }, { batch_size = 64 }]\n"));
  REQUIRE(plan.at("units").size() == 2);
  CHECK(argv_of(plan, 0, "train") == std::vector<std::string>{"/bin/echo", "--batch_size=32"});
  CHECK(argv_of(plan, 1, "train") == std::vector<std::string>{"/bin/echo", "--batch_size=64"});
}

TEST_CASE("kxm, how to: SweepFromCfg passes the config's sweep unchanged to the program") {
  const Launching at;
  const Json plan = at.plan(
      at.xp("[xp]\nsweep = true\n[xp.jobs.train]\ntarget = '/bin/echo'\n"
            "[xp.sweep_info]\ntype = 'sweeps/ConfigSweep'\n[sweep.default]\nbatch_size = [64]\n"));
  CHECK(argv_of(plan, 0, "train") == std::vector<std::string>{"/bin/echo", "--batch_size=64"});
}

TEST_CASE("kxm, how to: the directory of the unit is passed to the program") {
  const Launching at;
  const std::string xp = at.xp(
      "[xp.jobs.train]\ntarget = '/bin/echo'\n"
      "args = { workdir = '{wu_dir}', up = '{xp_dir}/x' }\n");
  const Json plan = at.plan(xp + "--xp.root_dir='/path/to/home/{author}/kd/' ");
  CHECK(plan.at("xp_dir") == "/path/to/home/ada/kd/1");
  CHECK(unit_of(plan, 0).at("wu_dir") == "/path/to/home/ada/kd/1/1");
  CHECK(argv_of(plan, 0, "train") == std::vector<std::string>{"/bin/echo",
                                                              "--workdir=/path/to/home/ada/kd/1/1",
                                                              "--up=/path/to/home/ada/kd/1/x"});
}

TEST_CASE("kxm, how to: names of directories have all the placeholders of its list") {
  const Launching at;
  const std::string xp = at.xp(
      "[xp]\nname = 'try'\ncell = 'jn'\n[xp.jobs.train]\ntarget = '/bin/echo'\n"
      "[xp.sweep_info]\ntype = 'sweeps/ConfigSweep'\n[sweep.default]\nseed = { range = [0, 345] "
      "}\n");
  const auto directory = [&](const std::string& xp_dirname, const std::string& wu_dirname,
                             const std::string& more) {
    const Json plan = at.plan(xp + "--xp.subdir_format.xp_dirname=" + quoted(xp_dirname) +
                              " --xp.subdir_format.wu_dirname=" + quoted(wu_dirname) + " " + more);
    return unit_of(plan, 0).at("wu_dir").get<std::string>().substr(at.root().size());
  };
  const std::string swept = "--xp.sweep=true ";
  CHECK(directory("{xid}", "{wid}", swept) == "/1/001");
  CHECK(directory("{xid}-{name}", "{wid}-{sweep_kwargs}", swept) == "/1-try/001-seed=0");
  CHECK(directory("{title}-{cell}-{xid}", "{unpadded_wid}", swept) == "/try-jn-1/1");
  CHECK(directory("{user}-{author}", "{wid}{separator_if_sweep}{sweep_kwargs}", swept) ==
        "/ada-ada/001-seed=0");
  CHECK(directory("{xid}", "{wid}{separator_if_sweep}{sweep_kwargs}", "--xp.sweep=false ") ==
        "/1/1");
  // From kxm's tests: a number can be a name.
  CHECK(directory("12345", "{wid}", swept) == "/12345/001");
}

TEST_CASE("kxm, how to: a file that a job depends on is named by its key") {
  const Launching at;
  const fs::path gin = at.write("file.gin", "x = 1\n");
  const Json plan =
      at.plan(at.xp("[xp.jobs.train]\ntarget = '/bin/echo'\n"
                    "args = { gin_config = '{file:my_file.gin}' }\n"
                    "files = { 'my_file.gin' = '" +
                    gin.string() + "' }\n"));
  const std::vector<std::string> argv = argv_of(plan, 0, "train");
  REQUIRE(argv.size() == 2);
  CHECK_THAT(argv[1], Catch::StartsWith("--gin_config=" + at.root() + "/1/files/") &&
                          Catch::EndsWith("/file.gin"));
}

TEST_CASE("kxm, how to: the values of --cfg flags reach the program") {
  const Launching at;
  const std::string words = autoencoder(at) +
                            at.xp(
                                "[xp]\nsweep_info = 'sweeps/TrainerSweep'\n[xp.jobs.train]\n"
                                "target = '/bin/echo'\nargs = { cfg = '{cfg}' }\n") +
                            "--cfg.task.train_input.batch_size=32 --xp.sweep=True "
                            "--xp.platform=jf=2x2 ";
  const Json plan = at.plan(words);
  CHECK(argv_of(plan, 1, "train") ==
        std::vector<std::string>{"/bin/echo", "--cfg=" + at.root() + "/1/config.toml",
                                 "--cfg.seed=1"});
  REQUIRE(at.launch(words).exit_code == 0);
  CHECK_THAT(read_file(at.folder / "root/1/config.toml"), Contains("batch_size = 32"));
}
