// SPDX-License-Identifier: Apache-2.0
// The plugin of sdk/examples, which the pages of docs/plugins quote: each class works as documented
// in a run.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "program/launch/launched_experiments.h"
#include "program/run/run_fixture.h"
#include "support/overrides.h"
#include "support/paths.h"
#include "support/plugin_folder.h"
#include "support/plugins.h"
#include "trivet/layer/scope.h"
#include "trivet/metric.h"
#include "trivet/optimizer.h"
#include "trivet/plugin/registry.h"
#include "trivet/testing/layer_check.h"
#include "trivet/testing/metric_check.h"
#include "trivet/testing/plugins.h"
#include "trivet/tokenizer.h"

namespace examples_test {

using namespace trivet;
using Catch::Contains;
using test::quoted;
using Floats = std::vector<float>;
namespace fs = std::filesystem;

namespace {

// Overrides for a short run.
constexpr const char* kShort = "trainer.train_steps=200 trainer.checkpoint_interval=100 ";

fs::path wave() {
  return test::source_root() / "sdk/examples/wave.toml";
}

// The plugin in its own folder.
struct Examples {
  Examples() { plugins.copy("examples"); }

  test::ShellResult trivet(const std::string& words) const {
    return test::trivet(words + " --plugin-dir " + quoted(plugins.path().string()));
  }
  test::ShellResult run(const fs::path& workdir, const std::string& more = {}) const {
    return trivet("run " + quoted(wave().string()) + " --workdir " + quoted(workdir.string()) +
                  " " + test::last_of_each(more));
  }

  test::PluginFolder plugins;
  test::TempDir folder;
};

template <class Base>
std::unique_ptr<Base> make_example(const std::string& name, const Value& fields) {
  testing::load_plugin(test::fixture("examples"));
  return make(ConfigOf<Base>("examples/" + name, fields));
}

Tensor column(Device& device, const Floats& values) {
  return Tensor::from<float>(device, values, {static_cast<std::int64_t>(values.size()), 1});
}

// Experiments whose orchestrator is the example.
std::string plugin_path_setting(const test::PluginFolder& plugins) {
  return "TRIVET_PLUGIN_PATH=" +
         quoted(test::plugin_dir().string() + ":" + plugins.path().string()) + " ";
}

struct OneByOne {
  OneByOne() { plugins.copy("examples"); }
  test::PluginFolder plugins;
  test::Experiments xp{"type = 'examples/OneByOne'\ngrace = 1\n", plugin_path_setting(plugins)};
};

}  // namespace

TEST_CASE("the example task trains its model on the example input") {
  const Examples at;
  const test::ShellResult result = at.run(at.folder / "run");
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  const auto evals = test::records(at.folder / "run", "eval");
  REQUIRE(evals.size() == 1);
  const auto& values = evals.front().at("values");
  CHECK(values.at("r2") > 0.9);
  CHECK(values.at("validation_loss") < 0.05);
  CHECK_THAT(result.output,
             Contains(" examples=100 "));  // the padding of the last batch is none of them
}

TEST_CASE("the example experiment trains and rejects incomplete batches") {
  const Examples at;
  const std::string words = "run --experiment examples/wave --workdir ";
  const test::ShellResult result =
      at.trivet(words + quoted((at.folder / "run").string()) + " trainer.train_steps=2");
  INFO(result.output);
  CHECK(result.exit_code == 0);
  CHECK_THAT(result.output, Contains("fit"));
  const test::ShellResult refused =
      at.trivet(words + quoted((at.folder / "other").string()) + " task.train_input.batch_size=30");
  INFO(refused.output);
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.output, Contains("task.train_input.batch_size") &&
                                 Contains("must divide the number of examples"));
  CHECK_FALSE(fs::exists(at.folder / "other"));
}

TEST_CASE("a stopped run of the examples ends in the same bytes") {
  const Examples at;
  REQUIRE(at.run(at.folder / "whole", kShort).exit_code == 0);
  REQUIRE(at.run(at.folder / "parts", std::string(kShort) + "trainer.train_steps=100").exit_code ==
          0);
  const test::ShellResult second = at.run(at.folder / "parts", kShort);
  INFO(second.output);
  REQUIRE(second.exit_code == 0);
  for (const char* file : {"model.safetensors", "optimizer.safetensors"}) {
    const fs::path step = fs::path("checkpoints/step_00000200") / file;
    INFO(file);
    CHECK(test::read_file(at.folder / "whole" / step) ==
          test::read_file(at.folder / "parts" / step));
  }
}

TEST_CASE("errors in configs of the examples are found before anything starts") {
  const Examples at;
  const std::pair<const char*, const char*> cases[] = {
      {"task.train_input.noise=-1", "task.train_input.noise"},
      {"trainer.optimizer.rho=1", "trainer.optimizer.rho"},
      {"task.model.hidden_dims=[0]", "task.model.hidden_dims"},
  };
  for (const auto& [words, path] : cases) {
    const test::ShellResult result = at.run(at.folder / "run", words);
    INFO(result.output);
    CHECK(result.exit_code == 2);
    CHECK_THAT(result.output, Contains(path));
  }
  const test::ShellResult shape = at.run(at.folder / "run", "task.model.output_dims=2");
  INFO(shape.output);
  CHECK(shape.exit_code != 0);
  CHECK_THAT(shape.output, Contains("y of the batch is f32 [32, 1]"));
}

TEST_CASE("the gradients of the example layer are right, with and without a learned beta") {
  testing::load_plugin(test::fixture("examples"));
  const auto device = test::open_device("tiny/Backend");
  const bool learned = GENERATE(true, false);
  ParameterStore store(*device, RngKey(1));
  const auto swish = Scope(store).layer(
      "swish", {"examples/Swish", Value::table({{"beta", 0.7}, {"learned", learned}})});
  store.build();
  CHECK(store.trainable_count() == (learned ? 1 : 0));
  const Tensor x = Tensor::from<float>(*device, Floats{-3, -0.5F, 0, 0.5F, 1, 4}, {2, 3});
  CHECK(testing::check_layer_gradients(*swish, store, x) == "");
  FpropContext context;
  const Floats y = swish->fprop(x, context).to_host<float>();
  CHECK(y[4] == Approx(1 / (1 + std::exp(-0.7))));
}

TEST_CASE("the example optimizer follows the formula of its paper") {
  const auto optimizer =
      make_example<Optimizer>("Adadelta", Value::table({{"rho", 0.8}, {"epsilon", 0.01}}));
  const auto device = test::open_device("tiny/Backend");
  REQUIRE(optimizer->slots() == std::vector<std::string>{"gradients", "changes"});
  OptimizerSegment segment;
  segment.value = Tensor::from<float>(*device, Floats{1, -2}, {2});
  segment.slots = {Tensor::zeros(*device, {2}), Tensor::zeros(*device, {2})};
  std::vector<double> w = {1, -2}, gradients(2), changes(2);
  for (int step = 0; step < 4; ++step) {
    const Floats g = {static_cast<float>(step) - 1, 0.5F};
    segment.gradient = Tensor::from<float>(*device, g, {2});
    optimizer->update({.step = step, .learning_rate = 0.3, .gradient_scale = 2}, {&segment, 1});
    for (std::size_t i = 0; i < w.size(); ++i) {
      const double scaled = 2.0 * g[i];
      gradients[i] = 0.8 * gradients[i] + 0.2 * scaled * scaled;
      const double change = -std::sqrt(changes[i] + 0.01) / std::sqrt(gradients[i] + 0.01) * scaled;
      changes[i] = 0.8 * changes[i] + 0.2 * change * change;
      w[i] += 0.3 * change;
      CHECK(segment.value.to_host<float>()[i] == Approx(w[i]));
    }
  }
}

TEST_CASE("the example metric does not depend on the batch size") {
  const auto device = test::open_device("tiny/Backend");
  const Floats y = {1001, 1002, 1004, 1008, 7}, prediction = {1001, 1003, 1003, 1008, 0};
  const Floats weight = {1, 1, 1, 1, 0};
  const double mean = 1003.75;
  double spread = 0;
  for (int i = 0; i < 4; ++i) spread += (y[i] - mean) * (y[i] - mean);
  const auto add = [&](Metric& metric, std::ptrdiff_t begin, std::ptrdiff_t end) {
    const auto part = [&](const Floats& all) {
      return Floats(all.begin() + begin, all.begin() + end);
    };
    const Tensor weights = Tensor::from<float>(*device, part(weight), {end - begin});
    metric.update_state({{"y", column(*device, part(y))}, {"weight", weights}},
                        {{"prediction", column(*device, part(prediction))}});
  };
  const auto first = make_example<Metric>("RSquared", Value::table());
  const auto second = make_example<Metric>("RSquared", Value::table({{"name", "fit"}}));
  CHECK(*first->result().find("r2") == 0);
  add(*first, 0, 3);
  second->restore_state(first->save_state());  // like a continued run
  add(*second, 3, 5);
  CHECK(*second->result().find("fit") == Approx(1 - 2 / spread).epsilon(1e-9));
  second->reset_state();
  CHECK(*second->result().find("fit") == 0);
  CHECK_THROWS_WITH(second->restore_state(Value::table()), Contains("has no weight"));

  std::vector<trivet::testing::MetricBatch> batches;
  for (const Floats& x : {Floats{1, 2, 4}, Floats{8}, Floats{3, 3}}) {
    const auto rows = static_cast<std::int64_t>(x.size());
    batches.push_back({{{"y", column(*device, x)}, {"weight", Tensor::full(*device, {rows}, 1)}},
                       {{"prediction", Tensor::full(*device, {rows, 1}, 3)}}});
  }
  const auto make = [] { return make_example<Metric>("RSquared", Value::table()); };
  CHECK(trivet::testing::check_metric(make, batches) == "");
}

TEST_CASE("the example tokenizer decodes to every text") {
  const Value fields = Value::table({{"pieces", Value::array({"the ", "there", "é"})}});
  const auto pieces = make_example<Tokenizer>("Pieces", fields);
  CHECK(pieces->vocabulary_size() == 260);
  CHECK(pieces->encode("there the é") ==
        std::vector<std::int32_t>{258, 32, 257, 259});  // the longest piece first
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  for (const std::string& text : {std::string(), all + "there" + all, std::string("the\0re", 6)}) {
    CHECK(pieces->decode(pieces->encode(text)) == text);
  }
  CHECK(pieces->decode({{256}}) == "<|end|>");
  CHECK(pieces->is_special(256));
  CHECK_THROWS_AS(pieces->decode({{260}}), InputError);
  const auto stored = make(pieces->store({}));
  CHECK(stored->fingerprint() == pieces->fingerprint());
  CHECK(make_example<Tokenizer>("Pieces", Value::table())->fingerprint() != pieces->fingerprint());
}

TEST_CASE("commands on tokenizers accept the example tokenizer") {
  const Examples at;
  const std::string tokenizer = quoted(R"({"type": "examples/Pieces", "pieces": ["ab"]})");
  const test::ShellResult ids = at.trivet("tokenizer encode " + tokenizer + " cab");
  INFO(ids.output);
  CHECK(ids.output == "99 257\n");
  const std::string twice = quoted(R"({"type": "examples/Pieces", "pieces": ["ab", "ab"]})");
  const test::ShellResult refused = at.trivet("tokenizer encode " + twice + " cab");
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.output, Contains("is listed twice"));
}

TEST_CASE("the example command prints the norms of a run's variables") {
  const Examples at;
  REQUIRE(at.run(at.folder / "run", "trainer.train_steps=1").exit_code == 0);
  const std::string run = quoted((at.folder / "run").string());
  const test::ShellResult norms = at.trivet("norms " + run);
  INFO(norms.output);
  CHECK(norms.exit_code == 0);
  CHECK_THAT(norms.output, Contains("hidden_0/w") && Contains("[1, 16]") && Contains("output/b"));
  CHECK(at.trivet("norms --rms " + run).output != norms.output);
  CHECK_THAT(at.trivet("norms --help").output, Contains("usage: trivet norms"));
  CHECK(at.trivet("norms").exit_code == 2);
}

TEST_CASE("the example orchestrator runs the jobs in order", "[slow]") {
  const OneByOne at;
  const test::ShellResult launched = at.xp.launch(
      "cd $0; mkdir ../busy || echo overlap >> ../log; basename $0 >> ../log; sleep 0.1; rmdir "
      "../busy; "
      "test -e retried || (touch retried; exit 1)",
      3, {}, "retries = 1\n");
  INFO(launched.output);
  REQUIRE(launched.exit_code == 0);
  REQUIRE(test::comes_true([&] { return at.xp.all_are("completed"); }));
  for (int wid = 1; wid <= 3; ++wid) CHECK(at.xp.job(wid).at("attempt") == 2);
  CHECK(test::read_file(at.xp.unit_file(1, "../log")) == "1\n1\n2\n2\n3\n3\n");
}

TEST_CASE("the example orchestrator ends cancelled jobs and skips jobs that wait for them",
          "[slow]") {
  const OneByOne at;
  const test::ShellResult launched = at.xp.launch(
      "sleep 100", 2, {}, "[xp.jobs.report]\ntarget = '/bin/true'\nafter = ['main']\n");
  INFO(launched.output);
  REQUIRE(launched.exit_code == 0);
  REQUIRE(test::comes_true([&] { return at.xp.state(1) == "running"; }));
  CHECK(at.xp.state(2) == "pending");
  REQUIRE(at.xp.trivet("cancel 1/1").exit_code == 0);
  REQUIRE(test::comes_true([&] { return at.xp.state(2) == "running"; }));
  CHECK(at.xp.state(1) == "cancelled");
  CHECK(at.xp.state(1, "report") == "cancelled");
  REQUIRE(at.xp.trivet("cancel 1").exit_code == 0);
  REQUIRE(test::comes_true([&] { return !at.xp.status().at("supervised"); }));
  CHECK(at.xp.state(2) == "cancelled");
}

TEST_CASE("a running job is adopted by the next supervisor of the example", "[slow]") {
  const OneByOne at;
  const test::ShellResult launched =
      at.xp.launch("echo start >> $0/log; while ! test -e $0/go; do sleep 0.05; done", 1);
  INFO(launched.output);
  REQUIRE(launched.exit_code == 0);
  REQUIRE(test::comes_true([&] { return at.xp.state(1) == "running"; }));
  at.xp.kill_supervisor();
  REQUIRE(test::comes_true([&] { return !at.xp.status().at("supervised"); }));
  REQUIRE(at.xp.trivet("resume 1").exit_code == 0);
  std::ofstream(at.xp.unit_file(1, "go"));
  REQUIRE(test::comes_true([&] { return at.xp.all_are("completed"); }));
  CHECK(test::read_file(at.xp.unit_file(1, "log")) == "start\n");
}

TEST_CASE("the example sweep launches runs at points in its ranges", "[slow]") {
  const OneByOne at;
  const fs::path config = at.xp.folder.write(
      "random.toml", "base = ['" + wave().string() +
                         "']\n[xp]\norchestrator = 'examples/OneByOne'\n"
                         "[xp.sweep_info]\ntype = 'examples/LogUniform'\npoints = 2\nseed = 3\n"
                         "ranges.\"trainer.learning_rate\" = [0.1, 2.0]\n");
  const test::ShellResult launched =
      at.xp.trivet("launch " + quoted(config.string()) + " trainer.train_steps=2");
  INFO(launched.output);
  REQUIRE(launched.exit_code == 0);
  REQUIRE(test::comes_true([&] { return at.xp.all_are("completed"); }));
  std::vector<double> rates;
  const auto status = at.xp.status();
  for (const auto& unit : status.at("units")) {
    rates.push_back(unit.at("sweep").at("trainer.learning_rate"));
    CHECK(fs::exists(fs::path(unit.at("wu_dir").get<std::string>()) / "summary.json"));
  }
  REQUIRE(rates.size() == 2);
  CHECK(rates[0] != rates[1]);
  for (const double rate : rates) CHECK((rate >= 0.1 && rate <= 2.0));
  const test::ShellResult refused =
      at.xp.trivet("launch " + quoted(config.string()) +
                   " --xp.sweep_info.ranges='{\"trainer.learning_rate\" = [2, 1]}'");
  INFO(refused.output);
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.output, Contains("the lower one first"));
}

TEST_CASE("the example trainer differs from the default one in its start alone") {
  const Examples examples;
  const auto train = [&](const char* name, const std::string& more) {
    const auto result = examples.run(examples.folder / name,
                                     "trainer.checkpoint_at_start=true trainer.max_to_keep=0 "
                                     "trainer.checkpoint_interval=10 trainer.train_steps=20 " +
                                         more);
    INFO(result.output);
    REQUIRE(result.exit_code == 0);
  };
  const auto weights = [&](const char* name, const char* step) {
    return test::read_file(examples.folder / name / "checkpoints" / step / "model.safetensors");
  };
  // Another type takes none of the fields of the old one.
  const std::string zero =
      "trainer.type=examples/ZeroStart trainer.optimizer=examples/Adadelta "
      "trainer.learning_rate=1 ";
  train("default", "trainer.validation_interval=0");
  train("none", zero + "'trainer.zero=[\"nothing\"]'");
  CHECK(weights("none", "step_00000000") == weights("default", "step_00000000"));
  CHECK(weights("none", "step_00000020") == weights("default", "step_00000020"));
  train("zero", zero + "'trainer.zero=[\"output/.*\"]'");
  const auto norms = examples.trivet(
      "norms " + quoted((examples.folder / "zero/checkpoints/step_00000000").string()));
  INFO(norms.output);
  std::istringstream variables(norms.output);
  int zeros = 0, others = 0;
  for (std::string line; std::getline(variables, line);) {
    const std::string path = line.substr(0, line.find(' ')),
                      norm = line.substr(line.rfind(' ') + 1);
    if (path.starts_with("output/")) {
      CHECK(norm == "0");
      ++zeros;
    } else if (path.ends_with("/w")) {
      CHECK(norm != "0");
      ++others;
    }
  }
  CHECK(zeros == 2);
  CHECK(others == 1);
  CHECK_THAT(test::records(examples.folder / "zero", "train").back().dump(),
             Contains("training_loss"));

  // Stopped and continued, it has the same bytes.
  train("halves", zero + "'trainer.zero=[\"output/.*\"]' trainer.train_steps=10");
  train("halves", zero + "'trainer.zero=[\"output/.*\"]'");
  CHECK(weights("halves", "step_00000020") == weights("zero", "step_00000020"));

  const auto wrong = examples.run(examples.folder / "wrong", zero + "'trainer.zero=[\"(\"]'");
  CHECK(wrong.exit_code == 2);
  CHECK_THAT(wrong.output, Contains("trainer.zero"));
  const auto negative =
      examples.run(examples.folder / "wrong", zero + "'trainer.zero=[]' trainer.max_to_keep=-1");
  CHECK(negative.exit_code == 2);
  CHECK_THAT(negative.output, Contains("trainer.max_to_keep"));
}

}  // namespace examples_test
