// SPDX-License-Identifier: Apache-2.0
// Which jobs a sweep is for, jobs of several processes, and repeats.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "launched_experiments.h"
#include "launching.h"
#include "support/paths.h"

namespace launch_jobs_test {

using namespace trivet::test;
using Catch::Contains;
using Json = nlohmann::ordered_json;

namespace {

using Words = std::vector<std::string>;

constexpr const char* kTwoJobs =
    "[xp]\ntarget = '/bin/echo'\n[xp.jobs.train]\n[xp.jobs.report]\n"
    "[xp.sweep_info]\ntype = 'sweeps/SimpleSweep'\nitems = [{ lr = 1, seed = 2 }]\n";

const Json& job_of(const Json& plan, const std::string& name, std::size_t unit = 0) {
  return plan.at("units").at(unit).at("jobs").at(name);
}

std::string local_config() {
  return "--cfg=" + quoted(config("vision/local.toml").string()) + " ";
}

}  // namespace

TEST_CASE("an orchestrator decides which jobs a value of a sweep is for") {
  const Launching at;
  const std::string xp = at.xp(kTwoJobs);
  const auto words_of = [&](const std::string& more, const std::string& job) {
    return words(job_of(at.plan(xp + more), job).at("argv"));
  };
  CHECK(words_of("", "report") == Words{"/bin/echo", "--lr=1", "--seed=2"});
  const std::string keeps = "--xp.orchestrator.keeps=lr ";
  CHECK(words_of(keeps, "train") == Words{"/bin/echo", "--lr=1", "--seed=2"});
  CHECK(words_of(keeps, "report") == Words{"/bin/echo", "--seed=2"});
  // Beside what the job itself says.
  CHECK(words_of(keeps + "--xp.jobs.report.swept=\"['lr']\"", "report") == Words{"/bin/echo"});
  CHECK_THAT(at.refusal(xp + keeps + "--xp.jobs.train.swept=\"['seed']\""),
             Contains("'lr' is swept, but no job takes it"));
}

TEST_CASE("a platform of several dimensions gives replicas, which are fields, too") {
  const Launching at;
  const std::string xp =
      at.xp("[xp.jobs.a]\ntarget = '/bin/echo'\n") + "--xp.orchestrator.has_replicas=true ";
  const Json shaped = job_of(at.plan(xp + "--xp.platform=gb200=4x18x2"), "a");
  CHECK(shaped.at("gpus") == 4);
  CHECK(shaped.at("replicas") == 36);
  CHECK(shaped.at("nodes") == 36);
  const Json fields = job_of(at.plan(xp + "--xp.replicas=6 --xp.jobs.a.nodes=2"), "a");
  CHECK(fields.at("replicas") == 6);
  CHECK(fields.at("nodes") == 2);
  CHECK(job_of(at.plan(xp + "--xp.platform=v100=4x2 --xp.replicas=2"), "a").at("replicas") == 2);
  CHECK(job_of(at.plan(xp + "--xp.platform=df=4x4"), "a").at("replicas") == 1);
  CHECK_THAT(at.launch(xp + "--xp.platform=v100=4x2 --dry-run").output,
             Contains("4 GPUs (v100), for each of 2 replicas on 2 nodes"));
}

TEST_CASE("replicas that cannot be are refused with the reason") {
  const Launching at;
  const std::string xp = at.xp("[xp.jobs.a]\ntarget = '/bin/echo'\n");
  const std::string several = "--xp.orchestrator.has_replicas=true ";
  CHECK_THAT(at.refusal(xp + "--xp.replicas=2"),
             Contains("xp.jobs.a.replicas: the job 'a' has 2 replicas, but paper/Orchestrator "
                      "starts one process of a job"));
  CHECK_THAT(at.refusal(xp + several + "--xp.platform=v100=4x2 --xp.replicas=3"),
             Contains("is 3, but the platform 'v100=4x2' has 2"));
  CHECK_THAT(at.refusal(xp + several + "--xp.replicas=4 --xp.nodes=3"),
             Contains("4 replicas do not fit on 3 nodes"));
  CHECK_THAT(at.refusal(xp + several + "--xp.nodes=2"),
             Contains("1 replicas do not fit on 2 nodes"));
  CHECK_THAT(at.refusal(xp + several + "--xp.replicas=0"), Contains("xp.replicas"));
  CHECK_THAT(at.refusal(xp + several + "--xp.replicas=1000000"), Contains("xp.replicas"));
  CHECK_THAT(at.refusal(xp + several + "--xp.platform=v100=4x"), Contains("is no platform"));
  CHECK_THAT(at.refusal(local_config() + several + "--xp.replicas=2"),
             Contains("mesh.processes: is 2; this mesh of 1 device"));
}

TEST_CASE("local jobs are one process, and units recorded before replicas are read") {
  const Experiments at("type = 'local/Orchestrator'\n");
  const ShellResult refused = at.launch("true", 1, "--xp.jobs.main.platform=v100=4x2");
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.output, Contains("has 2 replicas, but local/Orchestrator starts one process"));
  REQUIRE(at.launch("exit 1", 1).exit_code == 0);
  REQUIRE(comes_true([&] { return at.count("failed") == 1; }));
  const auto file = at.root / "1/units.jsonl";
  std::string units = read_file(file);
  for (const std::string& field : {std::string("\"replicas\":1,"), std::string("\"nodes\":1,")}) {
    const std::size_t found = units.find(field) == std::string::npos ? 0 : units.find(field);
    INFO(units);
    REQUIRE(found > 0);
    units.erase(found, field.size());
  }
  std::ofstream(file) << units;
  CHECK_THAT(at.trivet("retry 1").output, Contains("1 work unit"));
  REQUIRE(comes_true([&] { return at.job(1).at("attempt") == 2 && at.count("failed") == 1; }));
}

TEST_CASE("a killed launch of repeats with replicas leaves all units or none", "[slow][nosan]") {
  const Launching at;
  const std::string words =
      at.xp("[xp.jobs.a]\ntarget = '/bin/echo'\nargs = { r = '{repeat}' }\n") +
      "--xp.orchestrator.has_replicas=true --xp.platform=v100=4x2 --xp.repeats=3000 ";
  for (const char* seconds : {"0.01", "0.03", "0.06", "0.1", "0.2"}) {
    const std::string into =
        std::filesystem::exists(at.folder / "root/.trivet/experiments/1") ? "--xid=1 " : "";
    at.launch(words + into, std::string("timeout -s KILL ") + seconds + " ");
  }
  const std::string into =
      std::filesystem::exists(at.folder / "root/.trivet/experiments/1") ? "--xid=1 " : "";
  const ShellResult last = at.launch(words + into);
  INFO(last.output);
  REQUIRE(last.exit_code == 0);
  std::ifstream lines(at.folder / "root/1/units.jsonl");
  int count = 0;
  for (std::string line; std::getline(lines, line);) {
    const Json unit = Json::parse(line);
    ++count;
    CHECK(unit.at("wid") == count);
    CHECK(unit.at("repeat") == count);
    CHECK(unit.at("jobs").at(0).at("replicas") == 2);
    CHECK(unit.at("jobs").at(0).at("argv").at(1) == "--r=" + std::to_string(count));
  }
  CHECK(count == 3000);
}

TEST_CASE("a run's repeats take their number, for instance as the seed") {
  const Launching at;
  const std::string seeded =
      local_config() + "--xp.repeats=3 --xp.jobs.train.args='{\"cfg.seed\" = \"{repeat}\"}' ";
  const Json plan = at.plan(seeded);
  REQUIRE(plan.at("units").size() == 3);
  CHECK(words(job_of(plan, "train", 2).at("argv")).back() == "--cfg.seed=3");
  // A sweep over the same key would win without a word.
  CHECK_THAT(at.refusal(seeded + "--sweep seed=5,6"), Contains("'cfg.seed' is both swept and set"));
  CHECK_THAT(at.refusal(local_config() +
                        "--xp.jobs.train.args='{\"cfg.sed\" = \"{repeat}\"}' --xp.repeats=2"),
             Contains("did you mean 'seed'"));
}

TEST_CASE("repeats of a whole sweep are limited to the units of an experiment") {
  const Launching at;
  const std::string xp = at.xp("[xp.jobs.a]\ntarget = '/bin/echo'\n");
  CHECK_THAT(at.refusal(xp + "--sweep 'n=range(0, 20)' --xp.repeats=100000"),
             Contains("20 items 100000 times make 2000000 work units, more than 100000"));
}

TEST_CASE("a negative index in a path counts from the end of a list") {
  const Launching at;
  const std::string xp = at.xp("[xp.jobs.a]\ntarget = '/bin/echo'\nargs = ['run', { x = 1 }]\n");
  CHECK(words(job_of(at.plan(xp + "--xp.jobs.a.args[-1].x=5"), "a").at("argv")) ==
        Words{"/bin/echo", "run", "--x=5"});
  CHECK_THAT(at.refusal(xp + "--xp.jobs.a.args[-3].x=5"), Contains("matches nothing"));
  const Json plan = at.plan(local_config() + "--sweep 'task.model.hidden_dims[-1]=16,32'");
  REQUIRE(plan.at("units").size() == 2);
  CHECK(words(job_of(plan, "train", 1).at("argv")).back() == "--cfg.task.model.hidden_dims[-1]=32");
}

}  // namespace launch_jobs_test
