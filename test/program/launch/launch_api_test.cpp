// SPDX-License-Identifier: Apache-2.0
// Experiments that a C++ program builds and launches, as in "Direct API" of kxm's README.
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include <catch2/catch.hpp>

#include "../../../sdk/examples/snippets/launch.h"
#include "launched_experiments.h"
#include "support/paths.h"
#include "trivet/error.h"
#include "trivet/launch/experiment.h"

using namespace trivet::test;
using Catch::Contains;
using trivet::ConfigError;
using trivet::RunError;
using trivet::Value;
using trivet::launch::Experiment;
using trivet::launch::JobConfig;
namespace fs = std::filesystem;

namespace {

// Sets an environment variable of this process, which launch() passes on, while this object exists.
class Variable {
 public:
  Variable(std::string name, const std::string& value) : name_(std::move(name)) {
    if (const char* before = std::getenv(name_.c_str())) before_ = before;
    ::setenv(name_.c_str(), value.c_str(), 1);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() {
    if (before_) {
      ::setenv(name_.c_str(), before_->c_str(), 1);
    } else {
      ::unsetenv(name_.c_str());
    }
  }

 private:
  std::string name_;
  std::optional<std::string> before_;
};

struct Program {
  Experiments at;
  Variable program{"TRIVET_PROGRAM", trivet::test::program().string()};
  Variable plugins{"TRIVET_PLUGIN_PATH", plugin_dir().string()};
  Variable ledger{"XDG_RUNTIME_DIR", at.folder.path().string()};
  Variable home{"HOME", "/nonexistent"};

  // One job, /bin/sh -c SCRIPT {wu_dir}.
  Experiment experiment(const std::string& script) const {
    Experiment xp;
    xp.root_dir = at.root.string();
    JobConfig train;
    train.target = "/bin/sh";
    train.args = Value::array({"-c", script, "{wu_dir}"});
    xp.jobs = {{"train", train}};
    xp.orchestrator = {"local/Orchestrator", Value::table({{"cores", 2}, {"grace", 1}})};
    return xp;
  }
};

}  // namespace

TEST_CASE("a program launches an experiment that it has built") {
  const Program program;
  Experiment xp = program.experiment("echo $1 $2 > $0/file");
  xp.jobs["train"].env = {{"QUOTED", "a \"b\"\n'c' {{xid}} \\ $${{x}}"}};
  xp.name = "from code";
  xp.note = "a \"note\" of\ntwo lines";
  xp.tags = Value::array({"one", "two"});
  xp.sweep_info = {"sweeps/SimpleSweep",
                   Value::table({{"items", Value::array({Value::table({{"lr", 0.1}, {"s", "x y"}}),
                                                         Value::table({{"lr", 1e-5}})})}})};
  const trivet::launch::Launched launched = trivet::launch::launch(xp);
  CHECK(launched.xid == 1);
  CHECK(launched.directory == program.at.root / "1");
  REQUIRE(comes_true([&] { return program.at.all_are("completed"); }));
  CHECK(read_file(program.at.unit_file(1, "file")) == "--lr=0.1 --s=x y\n");
  CHECK(read_file(program.at.unit_file(2, "file")) == "--lr=1e-05\n");
  const auto facts = json_of(launched.directory / "experiment.json");
  CHECK(facts.at("name") == "from code");
  CHECK(facts.at("note") == "a \"note\" of\ntwo lines");
  CHECK(facts.at("tags").at(1) == "two");
  const auto show = program.at.trivet("show 1/1").output;
  CHECK_THAT(show, Contains("QUOTED=") && Contains("{xid}") && Contains("${x}"));
  // Launched again, as another experiment and into the same one.
  CHECK(trivet::launch::launch(xp).xid == 2);
  xp.xid = 1;
  CHECK(trivet::launch::launch(xp).xid == 1);
  CHECK(program.at.status().at("units").size() == 2);
}

TEST_CASE("example: a program launches a trainer") {
  const Program program;
  const fs::path trainer =
      program.at.folder.write("trainer", "#!/bin/sh\necho done > ${1#--workdir=}/file\n");
  fs::permissions(trainer, fs::perms::owner_all);
  const trivet::launch::Launched launched =
      launch_example::launch_trainer(program.at.root.string(), trainer.string());
  CHECK(launched.xid == 1);
  CHECK(launched.directory == program.at.root / "1");
  REQUIRE(comes_true([&] { return program.at.all_are("completed"); }));
  CHECK(read_file(program.at.unit_file(1, "file")) == "done\n");
}

TEST_CASE("a program launches a run's config with overrides") {
  const Program program;
  Experiment xp;
  xp.root_dir = program.at.root.string();
  xp.jobs_provider = "trivet/ConfigJobs";
  xp.orchestrator = {"local/Orchestrator", Value::table({{"cores", 2}})};
  const trivet::launch::Launched launched =
      trivet::launch::launch(xp, config("vision/local.toml"),
                             {"trainer.train_steps=2", "task.model.hidden_dims=[8]",
                              "task.eval_input.examples=64", "runtime.threads=1"});
  CHECK_THAT(read_file(launched.directory / "config.toml"), Contains("train_steps = 2"));
  REQUIRE(comes_true([&] { return program.at.all_are("completed"); }));
  CHECK(json_of(program.at.unit_file(1, "summary.json")).at("state") == "done");
}

TEST_CASE("a program gets the errors of its experiment") {
  const Program program;
  Experiment xp = program.experiment("true");
  SECTION("a mistake in it is a ConfigError, and nothing is made") {
    xp.jobs["train"].after = {"nothing"};
    CHECK_THROWS_AS(trivet::launch::launch(xp), ConfigError);
    CHECK_THROWS_WITH(trivet::launch::launch(xp), Contains("unknown job 'nothing'"));
    CHECK_FALSE(fs::exists(program.at.root));
  }
  SECTION("so is one in an override") {
    CHECK_THROWS_WITH(trivet::launch::launch(xp, config("vision/local.toml"), {"sed=1"}),
                      Contains("did you mean 'seed'"));
    CHECK_FALSE(fs::exists(program.at.root));
  }
  SECTION("a root that cannot be made is a RunError") {
    xp.root_dir = "/proc/nowhere";
    CHECK_THROWS_AS(trivet::launch::launch(xp), RunError);
    CHECK_THROWS_WITH(trivet::launch::launch(xp), Contains("/proc/nowhere"));
  }
  SECTION("a program that is not there is named") {
    const Variable other("TRIVET_PROGRAM", "/no/such/trivet");
    CHECK_THROWS_WITH(trivet::launch::launch(xp),
                      Contains("/no/such/trivet") && Contains("TRIVET_PROGRAM"));
  }
}
