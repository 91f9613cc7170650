// SPDX-License-Identifier: Apache-2.0
// The planned config of each unit is the one that its process resolves: the same words in the same
// layers as in one command.
#include <filesystem>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "launching.h"
#include "program/run/run_fixture.h"
#include "support/paths.h"

namespace launch_units_test {

using namespace trivet::test;
using Catch::Contains;
using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

namespace {

// A config with lists, references into [xp], and a sweep with a reference.
constexpr const char* kRun =
    "[task.model]\nhidden_dims = [64, 32, 16]\n[xp]\nnote = 'n ${seed}'\n"
    "[sweep.named]\nname = ['a ${xp.note}', 'b ${xp.note}']\n";

std::string run_config(const Launching& at, const std::string& more = {}) {
  return quoted(at.write("run.toml",
                         "base = ['" + config("vision/local.toml").string() + "']\n" + kRun + more)
                    .string()) +
         " ";
}

// The output of `config show` without [xp]: a unit's config only has the referenced members.
Json shown(const std::string& words) {
  const ShellResult result = trivet::test::trivet("config show --format=json " + words);
  INFO(words);
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  Json config = Json::parse(result.output);
  config.erase("xp");
  return config;
}

// The words of a unit's run, in the form for `config show`.
std::string config_words(const Json& unit) {
  std::string text;
  for (const std::string& word : words(unit.at("jobs").at("train").at("argv"))) {
    if (word.starts_with("--cfg") || word.starts_with("--set")) text += quoted(word) + " ";
  }
  return text;
}

// The units of a real launch, with their config files.
Json launched(const Launching& at, const std::string& words) {
  const ShellResult result = at.launch(words + " --json");
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  return Json::parse(result.output).at("units");
}

Json facts(const Launching& at) {
  return Json::parse(read_file(at.folder / "root/1/experiment.json"));
}

}  // namespace

TEST_CASE("a unit resolves to the same config as a command with the same words", "[slow]") {
  const Launching at;
  const std::string run = run_config(at);
  const std::string said = GENERATE(
      as<std::string>{}, "name=x",
      // Indices refer to the list in the files.
      "'~task.model.hidden_dims[0]' 'task.model.hidden_dims[1]=8' '**.shuffle=false'",
      "trainer.optimizer.beta1=0.5 '**.batch_size=32' ~trainer.steps_per_loop",
      "task.train_input='{type = \"data/Synthetic\", batch_size = 8, image_shape = [16, 16, 1], "
      "num_classes = 10, examples = 64}' task.train_input.examples=128",
      "--params_override='{\"task\": {\"train_input\": {\"batch_size\": 16}, \"model\": {}}}'",
      "trainer.train_steps=40 name='at ${trainer.train_steps}'");
  const Json units = launched(at, run + said + " --sweep seed=3,4 --sweep trainer.max_to_keep=5");
  REQUIRE(units.size() == 2);
  for (int i = 0; i < 2; ++i) {
    const std::string item = " seed=" + std::to_string(3 + i) + " trainer.max_to_keep=5";
    CHECK(shown(config_words(units.at(i))) == shown(run + said + item));
  }
}

TEST_CASE("references of a sweep into [xp] are resolved for its units") {
  const Launching at;
  const Json units =
      launched(at, run_config(at) + "--xp.sweep=named --xp.note='of ${seed}' seed=7");
  REQUIRE(units.size() == 2);
  CHECK(shown(config_words(units.at(0))).at("name") == "a of 7");
  CHECK(shown(config_words(units.at(1))).at("name") == "b of 7");
  // The launch finds an invalid reference.
  const Launching other;
  CHECK_THAT(other.refusal(run_config(other) + "--sweep 'name=${xp.nope}'"),
             Contains("no value at 'xp.nope'"));
}

TEST_CASE("the record of a launch has the overrides of its units") {
  const Launching at;
  // The type that the sweep replaces lacks this field in the files.
  const std::string words =
      "trainer.optimizer.weight_decay=0.2 trainer.train_steps=40 "
      "--sweep trainer.optimizer=optim/AdamW,optim/Lamb";
  const Json units = launched(at, run_config(at) + words);
  REQUIRE(units.size() == 2);
  const Json before = facts(at);
  CHECK(before.at("overrides") ==
        Json{"trainer.optimizer.weight_decay=0.2", "trainer.train_steps=40"});
  const std::string record = quoted((at.folder / "root/1/launch.toml").string());
  const std::string sweep = " --sweep trainer.optimizer=optim/AdamW,optim/Lamb,optim/Adam";
  const ShellResult again = at.launch(record + " --xid=1" + sweep.substr(0, sweep.rfind(',')));
  INFO(again.output);
  CHECK_THAT(again.output, Contains("0 work units") && Contains("2 work units already existed"));
  CHECK(facts(at).at("overrides") == before.at("overrides"));
  CHECK(facts(at).at("unit_config") == before.at("unit_config"));
  CHECK(before.at("tags") == Json{"--sweep"});
  CHECK(facts(at).at("tags") == before.at("tags"));
  CHECK(facts(at).at("name") == "run");
  // A new override wins and is other work.
  const Json more = launched(at, record + " --xid=1 trainer.optimizer.weight_decay=0.3" +
                                     sweep.substr(0, sweep.rfind(',')));
  REQUIRE(more.size() == 2);
  const Json trainer = shown(config_words(more.at(0))).at("trainer");
  CHECK(trainer.at("optimizer").at("weight_decay") == 0.3);
  CHECK(trainer.at("train_steps") == 40);
}

TEST_CASE("an override is kept if a sweep varies arguments, and may be matched by globs") {
  const Launching at;
  const std::string xp = at.xp(
      "[xp]\nsweep_info = 'sweeps/ConfigSweep'\n"
      "[xp.jobs.train]\ntarget = '/bin/echo'\nargs = { cfg = '{cfg}' }\n");
  const Json units = launched(
      at, run_config(at) + xp + "trainer.optimizer.beta1=0.25 --sweep trainer.optimizer=1,2");
  REQUIRE(units.size() == 2);
  CHECK(words(units.at(1).at("jobs").at("train").at("argv")).back() == "--trainer.optimizer=2");
  CHECK_THAT(read_file(at.folder / "root/1/config.toml"), Contains("beta1 = 0.25"));
  const Launching globs;
  const Json swept = launched(globs, run_config(globs) +
                                         "trainer.optimizer.weight_decay=0.2 "
                                         "--sweep '**.optimizer=optim/AdamW,optim/Lamb'");
  REQUIRE(swept.size() == 2);
  const Json optimizer = shown(config_words(swept.at(1))).at("trainer").at("optimizer");
  CHECK(optimizer.at("type") == "optim/Lamb");
  CHECK(optimizer.at("weight_decay") == 0.2);
}

TEST_CASE("a unit whose config would differ from the launch is rejected") {
  const Launching at;
  const std::string run = run_config(at);
  // A table that another word changes differs from directories and listings.
  CHECK_THAT(at.refusal(run + "task.model.dropout=0.5 --sweep 'task.model={type = \"vision/Mlp\", "
                              "image_shape = [16, 16, 1], dropout = 0.1}'"),
             Contains("task.model.dropout") || Contains("item 1 of the sweep sets"));
  CHECK_THAT(at.refusal(run + "--params_override=task.model.dropout=0.5 --sweep "
                              "'task.model={type = \"vision/Mlp\", image_shape = [16, 16, 1], "
                              "dropout = 0.1}'"),
             Contains("task.model"));
  // Errors that the run's process would report.
  CHECK_THAT(at.refusal(run + "--xp.args.foo=1"), Contains("--foo") && Contains("xp.jobs.train"));
  CHECK_THAT(at.refusal(run + "--xp.args.mode=evil"), Contains("mode") && Contains("evil"));
}

TEST_CASE("a mistake in many units is reported once") {
  const Launching at;
  const std::string text =
      at.refusal(run_config(at) + "--sweep seed=1,2,3 --sweep trainer.train_steps=-1,-2");
  const auto times = [&](const std::string& words) {
    std::size_t count = 0;
    for (std::size_t from = 0; (from = text.find(words, from)) != std::string::npos; ++from) {
      ++count;
    }
    return count;
  };
  INFO(text);
  CHECK(times("trainer.train_steps: must be >= 0, found -1\n") == 1);
  CHECK(times("trainer.train_steps: must be >= 0, found -2\n") == 1);
  CHECK(times("error: ") == 2);
}

TEST_CASE("values of --sweep are what one would write in Python or YAML") {
  const Launching at;
  const std::string xp = at.xp("[xp.jobs.a]\ntarget = '/bin/echo'\n");
  const auto swept = [&](const std::string& values) {
    std::string text;
    const Json plan = at.plan(xp + "--sweep " + quoted("x=" + values));
    for (const Json& unit : plan.at("units")) {
      text += (text.empty() ? "" : " ") + unit.at("sweep").at("x").dump();
    }
    return text;
  };
  CHECK(swept("range(3)") == "0 1 2");
  CHECK(swept("it's,ok") == "\"it's\" \"ok\"");
  CHECK(swept("'a,b', \"c\"") == "\"a,b\" \"c\"");
  CHECK(swept(".5,1.,-1.e-3") == "0.5 1.0 -0.001");
  CHECK(swept("[1,'a,b'],{c = 'd,e'}") == "[1,\"a,b\"] {\"c\":\"d,e\"}");
  const auto refused = [&](const std::string& values) {
    return at.refusal(xp + "--sweep " + quoted("x=" + values));
  };
  CHECK_THAT(refused("1,,2"), Contains("--sweep x=1,,2 has an empty value"));
  CHECK_THAT(refused("1,"), Contains("has an empty value"));
  CHECK_THAT(refused(""), Contains("has an empty value"));
  CHECK_THAT(refused("'a,b"), Contains("not closed"));
  CHECK_THAT(refused("[1,2"), Contains("not closed"));
}

TEST_CASE("an error in a sweep of a file is reported at its location") {
  const Launching at;
  const std::string run =
      run_config(at, "[sweep.wrong]\nseed = [1, 'x']\n[sweep.unknown]\nsed = [1]\n");
  CHECK_THAT(at.refusal(run + "--xp.sweep=wrong"),
             Contains("run.toml:9:12") && Contains("item 2 of the sweep: seed=x"));
  CHECK_THAT(at.refusal(run + "--xp.sweep=unknown"),
             Contains("run.toml:11:8") && Contains("did you mean 'seed'"));
}

}  // namespace launch_units_test
