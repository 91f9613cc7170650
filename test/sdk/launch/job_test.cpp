// SPDX-License-Identifier: Apache-2.0
// Jobs in configs: amounts of memory, platforms, dependencies, and records of units.
#include "trivet/launch/job.h"

#include <cstdint>
#include <initializer_list>

#include <catch2/catch.hpp>

#include "trivet/config.h"
#include "trivet/config/json.h"
#include "trivet/launch/experiment.h"

using namespace trivet;
using launch::AfterKind;
using launch::parse_dependency;
using launch::parse_platform;

TEST_CASE("a platform is a name and how many of it") {
  CHECK(parse_platform("cpu")->count == 0);
  CHECK(parse_platform("CPU=8")->name == "cpu");
  CHECK(parse_platform("cpu=8")->count == 8);
  CHECK(parse_platform("cuda")->count == 1);
  CHECK(parse_platform("cuda=2")->count == 2);
  // The number of chips of a topology is its product, as in resources.py of the original.
  CHECK(parse_platform("df=4x2")->count == 8);
  CHECK(parse_platform("jf=4x18x2")->count == 144);
  CHECK(parse_platform("jf=4x18x2")->replicas == 1);
  // For GPUs, further dimensions count replicas, as there.
  CHECK(parse_platform("v100=4x2")->count == 4);
  CHECK(parse_platform("v100=4x2")->replicas == 2);
  CHECK(parse_platform("gb200=4x18x2")->replicas == 36);
  CHECK(parse_platform("cuda=4")->replicas == 1);
  CHECK(parse_platform("rtx-4090=1000000")->count == 1'000'000);
  for (const char* text :
       {"", "=8", "cpu=", "cpu=0", "cpu=-1", "cpu=2x", "cpu=x2", "cpu=1.5",
        "cpu=9999999999999999999", "a b=1", "cpu=2=3", "cpu=1000000x2", "cpu=1000001"}) {
    INFO(text);
    CHECK_FALSE(parse_platform(text).has_value());
  }
}

TEST_CASE("a dependency is a job, and how it must have ended") {
  CHECK(parse_dependency("train")->kind == AfterKind::afterok);
  CHECK(parse_dependency("afterany:train")->kind == AfterKind::afterany);
  CHECK(parse_dependency("afternotok:train")->kind == AfterKind::afternotok);
  CHECK(parse_dependency("after:train")->kind == AfterKind::after);
  CHECK(parse_dependency("after:train")->job == "train");
  CHECK_FALSE(parse_dependency(""));
  CHECK_FALSE(parse_dependency("afterok:"));
  CHECK_FALSE(parse_dependency("before:train"));
}

TEST_CASE("a work unit reads back from its record unchanged") {
  launch::WorkUnit unit;
  unit.wid = 3;
  unit.repeat = 2;
  unit.identity = "abc";
  unit.directory = "/tmp/a b/3";
  unit.sweep.args = {{"lr", 0.1}, {"sizes", Value::array({1, 2})}};
  unit.sweep.shown = {{"l", "x"}};
  launch::Job job;
  job.name = "train";
  job.argv = {"/bin/x", "a b", "\"'\n\xc3\xa4"};
  job.env = {{"A", "1"}};
  job.env_pass = {"HF_*"};
  job.programs = {{"/bin/x", "0123"}};
  job.cores = 2;
  job.memory_bytes = std::int64_t{1} << 40;
  job.gpus = 1;
  job.replicas = 4;
  job.nodes = 2;
  job.communicates = true;
  job.processes = 4;
  job.process_counts = {1, 2, 4};
  job.time_limit_seconds = 1.5;
  job.retries = 4;
  job.working_directory = "/tmp/a b";
  job.directory = "/tmp/a b/3/jobs/train";
  job.platform = "v100";
  job.cell = "jn";
  job.priority = 25;
  job.shared = true;
  job.after = {{AfterKind::afterany, "prepare"}};
  unit.jobs = {job};
  const Value record = launch::to_value(unit);
  const Value again = value_from_json(to_json(record), "a record");
  CHECK(again == record);
  const launch::WorkUnit back = launch::work_unit_from(again);
  CHECK(launch::to_value(back) == record);
  CHECK(back.jobs.at(0).argv == job.argv);
  CHECK(back.jobs.at(0).after.at(0).kind == AfterKind::afterany);
  CHECK(back.jobs.at(0).replicas == 4);
  CHECK(back.jobs.at(0).nodes == 2);
  CHECK(back.jobs.at(0).communicates);
  CHECK(back.jobs.at(0).processes == 4);
  CHECK(back.jobs.at(0).process_counts == job.process_counts);
  Value jobs = *record.find("jobs");
  Value older = jobs.items()[0];
  older.erase("replicas");
  older.erase("nodes");
  older.erase("communicates");
  older.erase("processes");
  older.erase("process_counts");
  Value other = record;
  other.set("jobs", Value::array({older}));
  CHECK(launch::work_unit_from(other).jobs.at(0).replicas == 1);
  CHECK(launch::work_unit_from(other).jobs.at(0).processes == 1);
  CHECK(launch::work_unit_from(other).jobs.at(0).process_counts.empty());
  CHECK_FALSE(launch::work_unit_from(other).jobs.at(0).communicates);
  older.set("nodes", 0);
  other.set("jobs", Value::array({older}));
  CHECK_THROWS_WITH(launch::work_unit_from(other), Catch::Contains("replicas on 0 nodes"));
  Value cut = record;
  cut.erase("jobs");
  CHECK_THROWS_WITH(launch::work_unit_from(cut), Catch::Contains("lacks 'jobs'"));
}

TEST_CASE("mistakes in a job are reported with their field") {
  const auto mistake = [](Value fields) {
    Diagnostics diagnostics;
    validate(fields, schema_of<launch::JobConfig>(), nullptr, diagnostics, {.path = "xp.jobs.a"});
    if (diagnostics.empty()) check_rules<launch::JobConfig>(fields, "xp.jobs.a", diagnostics);
    return diagnostics.empty() ? std::string() : to_string(diagnostics.list().front());
  };
  using Catch::Contains;
  CHECK(mistake(Value::table({{"memory", "16GiB"}, {"platform", "cpu=2"}})).empty());
  CHECK_THAT(mistake(Value::table({{"memory", "lots"}})), Contains("xp.jobs.a.memory"));
  CHECK_THAT(mistake(Value::table({{"platform", "cpu=0"}})), Contains("xp.jobs.a.platform"));
  CHECK_THAT(mistake(Value::table({{"env", Value::table({{"A B", 1}})}})),
             Contains("xp.jobs.a.env"));
  for (const Value& value : {Value::array(), Value::table()}) {
    CHECK_THAT(mistake(Value::table({{"env", Value::table({{"A", value}})}})),
               Contains("a text, a number or a boolean"));
  }
  for (const char* name : {"1A", "A-B", "A=B"}) {
    CHECK_THAT(mistake(Value::table({{"env", Value::table({{name, 1}})}})),
               Contains("is no name of an environment variable"));
  }
  CHECK(mistake(Value::table({{"env", Value::table({{"_a1", 1}})}})).empty());
  CHECK(mistake(Value::table({{"args", Value::array({"a", Value::table({{"b", 1}})})}})).empty());
  CHECK(mistake(Value::table({{"args", Value::table({{"b", 1}})}})).empty());
  CHECK_THAT(mistake(Value::table({{"args", 3}})), Contains("xp.jobs.a.args"));
  CHECK_THAT(mistake(Value::table({{"args", Value::array({1})}})), Contains("xp.jobs.a.args"));
  CHECK_THAT(mistake(Value::table({{"after", Value::array({"x:y"})}})), Contains("'x:y'"));
  CHECK_THAT(mistake(Value::table({{"time_limit", -1.0}})), Contains("xp.jobs.a.time_limit"));
}

TEST_CASE("a run with fewer processes takes their part of the machine") {
  launch::Job job;
  job.name = "train";
  job.argv = {"/bin/trivet", "run", "--processes=4"};
  job.cores = 12;
  job.memory_bytes = 4000;
  job.gpus = 4;
  job.processes = 4;
  job.process_counts = {1, 2, 4};
  const launch::Job two = launch::with_processes(job, 2);
  CHECK(two.argv.back() == "--processes=2");
  CHECK(two.cores == 6);
  CHECK(two.memory_bytes == 2000);
  CHECK(two.gpus == 2);
  CHECK(two.processes == 2);
  CHECK(two.replicas == 1);
  CHECK(launch::with_processes(job, 4).cores == 12);
  CHECK_THROWS_WITH(launch::with_processes(job, 3),
                    Catch::Contains("the job 'train' does not have 3 processes"));
}

TEST_CASE("a run with fewer replicas has fewer nodes, and as much for each replica") {
  launch::Job job;
  job.argv = {"/bin/trivet", "run", "--processes=8"};
  job.cores = 3;
  job.replicas = job.processes = 8;
  job.nodes = 4;
  job.communicates = true;
  job.process_counts = {1, 2, 4, 8};
  const launch::Job four = launch::with_processes(job, 4);
  CHECK(four.argv.back() == "--processes=4");
  CHECK(four.replicas == 4);
  CHECK(four.nodes == 2);
  CHECK(four.cores == 3);
  CHECK(four.communicates);
  const launch::Job one = launch::with_processes(job, 1);
  CHECK(one.nodes == 1);
  CHECK_FALSE(one.communicates);
}
