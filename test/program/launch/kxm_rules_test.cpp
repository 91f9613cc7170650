// SPDX-License-Identifier: Apache-2.0
// Rules of kxm, and of its config system, that launch_test.cpp, subdir_format_test.cpp and
// sweeps_test.cpp do not cover: the form of arguments, the contents of records, the jobs of a
// sweep.
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "launching.h"
#include "support/paths.h"

namespace kxm_rules_test {

using namespace trivet::test;
using Catch::Contains;
using Json = nlohmann::ordered_json;

namespace {

using Words = std::vector<std::string>;

Words argv_of(const Json& plan, std::size_t unit, const std::string& job) {
  return words(plan.at("units").at(unit).at("jobs").at(job).at("argv"));
}

std::string local_config() {
  return "--cfg=" + quoted(config("vision/local.toml").string()) + " ";
}

}  // namespace

TEST_CASE("arguments: strings are bare, all other values are JSON") {
  const Launching at;
  const Json plan = at.plan(at.xp(
      "[xp.jobs.a]\ntarget = '/bin/echo'\n"
      "args = { bare = 'a \"b\"', number = '1', empty = '', yes = true, no = false, small = 1e-5, "
      "big = 1e20, whole = 2.0, list = [1, 'a', [true]], none = [], table = { a = 1, b = { c = 'd' "
      "} }, inf = inf, minus = -inf, umlaut = ['ä'] }\n"));
  CHECK(argv_of(plan, 0, "a") == Words{"/bin/echo", "--bare=a \"b\"", "--number=1",
                                       "--empty=", "--yes=true", "--no=false", "--small=1e-05",
                                       "--big=1e+20", "--whole=2.0", "--list=[1, \"a\", [true]]",
                                       "--none=[]", "--table={\"a\": 1, \"b\": {\"c\": \"d\"}}",
                                       "--inf=Infinity", "--minus=-Infinity", "--umlaut=[\"ä\"]"});
}

TEST_CASE("arguments: placeholders work anywhere in a string, also in lists and tables") {
  const Launching at;
  const Json plan =
      at.plan(at.xp("[xp.jobs.a]\ntarget = '/bin/echo'\n"
                    "args = { deep = ['{wu_dir}/ckpt', { x = '{xp_dir}' }], id = "
                    "'{xid}.{wid}.{author}' }\n"));
  const std::string xp_dir = at.root() + "/1";
  CHECK(argv_of(plan, 0, "a") ==
        Words{"/bin/echo", "--deep=[\"" + xp_dir + "/1/ckpt\", {\"x\": \"" + xp_dir + "\"}]",
              "--id=1.1.ada"});
}

TEST_CASE("a sweep reaches every job of a unit and replaces values in place") {
  const Launching at;
  const Json plan = at.plan(
      at.xp("[xp]\ntarget = '/bin/echo'\n[xp.jobs.train]\nargs = { seed = 5, x = 1 }\n"
            "[xp.jobs.eval]\nargs = { y = 2 }\n[xp.sweep_info]\ntype = 'sweeps/SimpleSweep'\n"
            "items = [{ seed = 0 }]\n"));
  CHECK(argv_of(plan, 0, "train") == Words{"/bin/echo", "--seed=0", "--x=1"});
  CHECK(argv_of(plan, 0, "eval") == Words{"/bin/echo", "--y=2", "--seed=0"});
}

TEST_CASE("an explicit sweep runs unless it is turned off, and can be combined with another") {
  const Launching at;
  const std::string xp = at.xp(
      "[xp.jobs.a]\ntarget = '/bin/echo'\n[xp.sweep_info]\ntype = 'sweeps/SimpleSweep'\n"
      "items = [{ a = 1 }, { a = 2 }]\n");
  CHECK(at.plan(xp).at("units").size() == 2);
  CHECK(at.plan(xp + "--xp.sweep=true").at("units").size() == 2);
  CHECK(at.plan(xp + "--xp.sweep=false").at("units").size() == 1);
}

TEST_CASE("an experiment is named after its config unless it has a name") {
  const Launching at;
  const std::string name = "--xp.subdir_format.xp_dirname='{name}' ";
  CHECK(at.plan(local_config() + name).at("xp_dir") == at.root() + "/local");
  CHECK(at.plan(local_config() + name + "--xp.name=mine").at("xp_dir") == at.root() + "/mine");
  // A string field takes text that looks like a number as a string (D6).
  CHECK(at.plan(local_config() + name + "--xp.name=5").at("xp_dir") == at.root() + "/5");
  // A name may create directories, as in kxm.
  CHECK(at.plan(local_config() + name + "--xp.name=a/b").at("xp_dir") == at.root() + "/a/b");
}

TEST_CASE("the note and tags of an experiment are recorded, with the tags of its sweep") {
  const Launching at;
  REQUIRE(at.launch(local_config() +
                    "--xp.tags=a,b --xp.note=text --xp.importance=high --xp.aux.x=1 "
                    "--sweep seed=1,2")
              .exit_code == 0);
  const Json facts = Json::parse(read_file(at.folder / "root/1/experiment.json"));
  CHECK(facts.at("tags").at(0) == "a");
  CHECK(facts.at("tags").at(1) == "b");
  CHECK(facts.at("tags").at(2) == "--sweep");
  CHECK(facts.at("note") == "text");
  CHECK(facts.at("importance") == "high");
  CHECK(facts.at("author") == "ada");
  CHECK(facts.at("name") == "local");
  CHECK_THAT(read_file(at.folder / "root/1/launch.toml"), Contains("aux"));
}

TEST_CASE("a path with wildcards can be swept and applies to all matches (D7)") {
  const Launching at;
  const Json plan = at.plan(local_config() + "--sweep 'task.**.batch_size=8,16'");
  REQUIRE(plan.at("units").size() == 2);
  const Words argv = argv_of(plan, 1, "train");
  CHECK(argv.back() == "--cfg.task.**.batch_size=16");
  CHECK_THAT(at.refusal(local_config() + "--sweep 'task.**.batch_siez=8,16'"),
             Contains("batch_siez"));
}

TEST_CASE("values are read by the field's type, and never silently dropped (D5, D6)") {
  const Launching at;
  CHECK_THAT(at.refusal(local_config() + "--cfg.seed=x"), Contains("seed"));
  CHECK_THAT(at.refusal(local_config() + "--cfg.seed=4,5"), Contains("seed"));
  CHECK_THAT(at.refusal(local_config() + "--cfg.sed=1"), Contains("did you mean 'seed'"));
  // Free tables take new names.
  CHECK(at.plan(local_config() + "--xp.aux.anything=1").at("units").size() == 1);
  // A value may follow a blank; kxm sets True and drops the value.
  REQUIRE(at.launch(local_config() + "--cfg.seed=12").exit_code == 0);
  CHECK_THAT(read_file(at.folder / "root/1/config.toml"), Contains("seed = 12"));
}

TEST_CASE("missing required values are reported before anything is created (D8)") {
  const Launching at;
  CHECK_THAT(at.refusal(local_config() + "'~task'"), Contains("'task' is missing"));
}

TEST_CASE("additional units continue the numbers of an experiment, with the same width") {
  const Launching at;
  REQUIRE(at.launch(local_config() + "--sweep seed=1,2,3").exit_code == 0);
  const ShellResult more = at.launch(local_config() + "--xid=1 --json --sweep 'seed=range(0, 12)'");
  REQUIRE(more.exit_code == 0);
  const Json added = Json::parse(more.output);
  REQUIRE(added.at("units").size() == 9);
  CHECK(added.at("units").at(0).at("wid") == 4);
  CHECK(added.at("units").at(0).at("wu_dir") == at.root() + "/1/04-seed=0");
  CHECK(added.at("units").at(8).at("wu_dir") == at.root() + "/1/12-seed=11");
}

}  // namespace kxm_rules_test
