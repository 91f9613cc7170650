// SPDX-License-Identifier: Apache-2.0
// The tasks for tables and their model: losses, sizes, predictions, and the source of a run's
// encoding.
#include <cmath>
#include <filesystem>
#include <optional>

#include <catch2/catch.hpp>

#include "plugins/config_round_trip.h"
#include "plugins/vision/batch.h"
#include "support/plugins.h"
#include "table.h"
#include "tabular/classification.h"
#include "tabular/mlp.h"
#include "tabular/regression.h"
#include "trivet/plugin/registry.h"

namespace tabular_task_test {

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;
using tabular::Classification;
using tabular::ClassificationConfig;
using tabular::Regression;
using tabular::RegressionConfig;
using tabular::RegressionLoss;
namespace fs = std::filesystem;

namespace {

ConfigOf<Input> csv(const fs::path& file, const Value& more = Value::table()) {
  Value fields = Value::table({{"file", file.string()}, {"batch_size", 4}});
  for (const auto& member : more.members()) fields.set(member.key, member.value);
  return {"data/Csv", std::move(fields)};
}

// A task with its own table and run directory.
template <class T>
struct Fixture {
  explicit Fixture(const std::string& text = kPeople)
      : file(text), device(open_device("tiny/Backend")) {
    for (const char* plugin : {"data", "nn", "tabular"}) use_plugin(plugin);
    config.label = "income";
    config.ignore = {"id"};
    config.model =
        ConfigOf<Model>("tabular/Mlp", Value::table({{"hidden_dims", Value::array({5})}}));
    config.train_input = csv(file.path());
    config.eval_input = csv(file.path());
  }

  // Acts as a process that starts or resumes the run; `train`: as a training one.
  T& start(bool train = true) {
    TaskContext context{*device, directory, followed};
    task.emplace(config, context);
    store.emplace(*device, RngKey(3));
    Scope scope(*store);
    model = task->build_model(task->config().model, scope);
    store->build();
    if (train) input(Phase::training);
    return *task;
  }
  std::unique_ptr<Input> input(Phase phase) {
    const bool training = phase == Phase::training;
    InputContext context{.phase = phase, .name = training ? "task.train_input" : "task.eval_input"};
    return task->build_inputs(training ? config.train_input : config.eval_input, context);
  }
  std::string complaint(bool train = true) {
    return complaint_of([&] { start(train); });
  }

  typename T::Config config;
  CsvFile file;
  TempDir run;
  fs::path directory = run.path(), followed{};
  std::unique_ptr<Device> device;
  std::optional<T> task;
  std::optional<ParameterStore> store;
  std::unique_ptr<Model> model;
};

double regression_loss(RegressionLoss loss, const std::vector<float>& predicted,
                       const std::vector<float>& label, const std::vector<float>& weight) {
  Fixture<Regression> fixture;
  fixture.config.loss = loss;
  fixture.config.huber_delta = 1.5;
  Regression& task = fixture.start();
  Batch batch{{"label", host_tensor(label, {3})}, {"weight", host_tensor(weight, {3})}};
  const WeightedScalar made =
      task.build_losses(batch.to(*fixture.device), logits(predicted, 1).to(*fixture.device), {});
  CHECK(made.weight == 3);
  return static_cast<double>(made.value.item());
}

}  // namespace

TEST_CASE("mse, mae and Huber's loss match the formulas") {
  // Errors 1, -2 and 5, weights 1, 2 and 0; Huber with delta 1.5: 1 / 2 and 1.5 (2 - 0.75).
  const auto loss = [](RegressionLoss kind) {
    return regression_loss(kind, {2, -1, 9}, {1, 1, 4}, {1, 2, 0});
  };
  CHECK(loss(RegressionLoss::mse) == Approx(9.0 / 3).epsilon(1e-6));  // f32
  CHECK(loss(RegressionLoss::mae) == Approx(5.0 / 3).epsilon(1e-6));
  CHECK(loss(RegressionLoss::huber) == Approx((0.5 + 2 * 1.875) / 3).epsilon(1e-6));
}

TEST_CASE("the table sets the model's sizes, and other sizes are refused") {
  Fixture<Regression> fixture;
  fixture.start();
  CHECK(fixture.store->find("embedding_0/table")->shape() == Shape{4, 3});  // round(1.6 * 4^0.56)
  CHECK(fixture.store->find("hidden_0/w")->shape() == Shape{6, 5});
  CHECK(fixture.store->find("output/w")->shape() == Shape{5, 1});
  fixture.config.model =
      ConfigOf<Model>("tabular/Mlp", Value::table({{"output_dims", 1}, {"number_features", 7}}));
  CHECK_THROWS_WITH(fixture.start(), Contains("number_features: is 7, but the table requires 3"));
  CHECK_THROWS_WITH(
      [&] {
        ParameterStore store(*fixture.device, RngKey(1));
        Scope scope(store);
        make(ConfigOf<Model>("tabular/Mlp"), scope);
      }(),
      Contains("a tabular task sets them"));
}

TEST_CASE("without numbers, or without categories, a model has the other alone") {
  Fixture<Regression> fixture;
  fixture.config.ignore.clear();
  fixture.config.features = {"city"};
  fixture.start();
  CHECK(fixture.store->find("hidden_0/w")->shape() == Shape{3, 5});
  fixture.config.features = {"code"};
  fs::remove(fixture.run / "table.json");
  fixture.start();
  CHECK(fixture.store->find("embedding_0/table") == nullptr);
  CHECK(fixture.store->find("hidden_0/w")->shape() == Shape{1, 5});
}

TEST_CASE("the model applies its layers to embeddings and numbers") {
  Fixture<Regression> fixture;
  fixture.config.model = ConfigOf<Model>(
      "tabular/Mlp", Value::table({{"hidden_dims", Value::array({})}, {"embedding_dims", 1}}));
  fixture.start();
  const auto set = [&](const char* path, const std::vector<float>& values) {
    Parameter& parameter = *fixture.store->find(path);
    parameter.assign(Tensor::from<float>(*fixture.device, values, parameter.shape()));
  };
  set("embedding_0/table", {100, 200, 300, 400});
  set("output/w", {1, 10, 1000, 1});  // of age, code, age's indicator, city
  set("output/b", {0.5F});
  Batch batch{{"numbers", host_tensor<float>({1, 2, 0, 3, 4, 1}, {2, 3})},
              {"categories", host_tensor<std::int32_t>({3, 0}, {2, 1})}};
  FpropContext context;
  const NestedMap outputs = fixture.task->inference_step(batch, *fixture.model, context);
  CHECK(outputs.at("logits").to_host<float>() == std::vector<float>{421.5F, 1143.5F});
  // In the label's unit: mean 30, deviation sqrt(350).
  CHECK(outputs.at("prediction").to_host<float>()[0] ==
        Approx(30 + std::sqrt(350.0) * 421.5).epsilon(1e-6));  // f32
}

TEST_CASE("rows for evaluation that do not suit the training rows are refused when opened") {
  Fixture<Classification> fixture;
  fixture.config.label = "city";
  fixture.config.train_input =
      csv(fixture.file.path(), Value::table({{"drop_missing", Value::array({"city"})}}));
  fixture.start();
  const TempDir dir;
  for (const auto& [row, what] :
       {std::pair{"e,old,Ulm,1,1", "table.csv:3: row 2, column 'age': 'old' is not a number"},
        std::pair{"e,1,Rome,1,1",
                  "table.csv:3: row 2, column 'city': no training row has the "
                  "label 'Rome'"},
        std::pair{"e,1,,1,1", "table.csv:3: row 2, column 'city': the label is missing"}}) {
    const std::string text = "id,age,city,code,income\na,1,Ulm,1,1\n" + std::string(row) + "\n";
    fixture.config.eval_input = csv(dir.write("table.csv", text));
    CHECK_THAT(complaint_of([&] { fixture.input(Phase::evaluation); }), Contains(what));
  }
}

TEST_CASE("a classification has as many logits as the training rows have labels") {
  Fixture<Classification> fixture;
  fixture.config.label = "city";
  fixture.config.train_input =
      csv(fixture.file.path(), Value::table({{"drop_missing", Value::array({"city"})}}));
  Classification& task = fixture.start();
  CHECK(fixture.store->find("output/w")->shape() == Shape{5, 2});
  const auto* first =
      static_cast<const ExpectedInitialLoss*>(task.extension(kTaskExpectedInitialLoss));
  CHECK(first->expected_initial_loss().reason == "ln(2) = 0.69 for 2 classes");

  // Two batches of an evaluation: Ulm scores above Bonn in three of four pairs.
  std::unique_ptr<AggregatedLogs> state;
  for (const auto& [label, logit] :
       std::vector<std::pair<std::int32_t, float>>{{0, 0.1F}, {1, 0.35F}, {0, 0.4F}, {1, 0.8F}}) {
    StepOutput step;
    step.batch = labels({label});
    step.outputs = logits({0, logit}, 2);
    state = task.aggregate_logs(std::move(state), step);
  }
  CHECK(number(task.reduce_aggregated_logs(*state, 1), "auc") == 0.75);
}

TEST_CASE("class weights are by the text of a class") {
  Fixture<Classification> fixture;
  fixture.config.label = "code";
  fixture.config.class_weights["2"] = 3;
  Classification& task = fixture.start();
  const Batch batch{{"label", host_tensor<std::int32_t>({0, 1}, {2})}};
  // Both rows lose ln 2 and ln 4; 1 and 2 are the classes.
  const WeightedScalar mean = task.build_losses(
      batch.to(*fixture.device), logits({0, 0, std::log(3.0F), 0}, 2).to(*fixture.device), {});
  CHECK(static_cast<double>(mean.value.item()) ==
        Approx((std::log(2.0) + 3 * std::log(4.0)) / 4).epsilon(1e-6));
  CHECK(mean.weight == 4);
  fixture.config.class_weights["3"] = 1;
  CHECK_THROWS_WITH(fixture.start(), Contains("task.class_weights: '3' is not a class") &&
                                         Contains("the classes are 1, 2"));
}

TEST_CASE("more than two classes have no ROC curve") {
  Fixture<Classification> fixture;
  Classification& task = fixture.start();
  StepOutput step;
  step.batch = labels({1});
  step.outputs = logits({0, 1, 0, 0}, 4);
  CHECK(task.aggregate_logs(nullptr, step) == nullptr);
}

TEST_CASE("a resumed run uses its table.json, not the current rows") {
  Fixture<Regression> fixture;
  fixture.start();
  const std::string kept = read_file(fixture.run / "table.json");
  CHECK_THAT(kept, Contains("\"Bonn\""));
  // An evaluation works without the training file.
  fixture.config.train_input = csv(fixture.file.folder() / "gone.csv");
  fixture.file.rewrite("age,city,code,income\n20,Rome,1,10\n");
  fixture.start(false);
  const Batch batch = *fixture.input(Phase::evaluation)->get_next();
  CHECK(batch.at("categories").to_host<std::int32_t>()[0] == tabular::kUnseenId);
  CHECK(read_file(fixture.run / "table.json") == kept);
}

TEST_CASE("a continuous evaluation uses the encoding of the run it follows") {
  Fixture<Regression> fixture;
  fixture.start();
  fixture.followed = fixture.run.path();
  fixture.directory = fixture.run / "evaluation";
  fs::create_directory(fixture.directory);
  fixture.file.rewrite("age,city,code,income\n20,Rome,1,10\n");
  fixture.config.ignore.clear();
  fixture.start(false);
  CHECK(fixture.store->find("embedding_0/table")->shape() == Shape{4, 3});
  const Batch batch = *fixture.input(Phase::evaluation)->get_next();
  CHECK(batch.at("categories").to_host<std::int32_t>()[0] == tabular::kUnseenId);
  CHECK(fs::is_empty(fixture.directory));
}

TEST_CASE("a run does not resume with other training rows, and describes the difference") {
  Fixture<Regression> fixture;
  fixture.start();
  CHECK(fixture.complaint().empty());
  std::string text = kPeople;
  text.replace(text.find("Ulm"), 3, "Aue");
  fixture.file.rewrite(text);
  CHECK_THAT(
      fixture.complaint(),
      Contains("table.csv: the training rows differ from those that this run started with") &&
          Contains("other values in 'city'") && Contains("start a new run"));
  fixture.file.rewrite(kPeople.substr(0, kPeople.find("d,30")));
  CHECK_THAT(fixture.complaint(), Contains("now 3 rows, before 4"));
}

TEST_CASE("a run can use the encoding of another run and keeps a copy") {
  Fixture<Regression> first;
  first.start();
  for (const bool by_directory : {true, false}) {
    Fixture<Regression> second("id,age,city,code,income\na,1,Rome,1,1\nb,2,Ulm,1,2\n");
    second.config.encoding = (by_directory ? first.run.path() : first.run / "table.json").string();
    second.start();
    CHECK(second.store->find("embedding_0/table")->shape() == Shape{4, 3});
    second.config.encoding = {};
    CHECK(second.complaint().empty());
    CHECK(second.input(Phase::training)->get_next()->at("categories").to_host<std::int32_t>()[0] ==
          tabular::kUnseenId);
    second.file.rewrite(kPeople);
    CHECK_THAT(second.complaint(), Contains("now 4 rows, before 2"));
  }
  Fixture<Classification> other;
  other.config.encoding = first.run.path().string();
  CHECK_THROWS_WITH(other.start(), Contains("is a regression's encoding, for the label 'income'"));
}

TEST_CASE("a run without a directory leaves no file") {
  Fixture<Regression> fixture;
  TaskContext context{*fixture.device, {}};
  Regression task(fixture.config, context);
  ParameterStore store(*fixture.device, RngKey(3));
  Scope scope(store);
  CHECK(task.build_model(task.config().model, scope) != nullptr);
  CHECK(fs::is_empty(fixture.run.path()));
}

TEST_CASE("an input that has no rows is refused by its key") {
  Fixture<Regression> fixture;
  fixture.config.train_input =
      ConfigOf<Input>("data/Synthetic", Value::table({{"batch_size", 4}, {"num_classes", 2}}));
  CHECK_THROWS_WITH(fixture.start(), Contains("task.train_input") &&
                                         Contains("data/Synthetic has no rows and columns") &&
                                         Contains("data/Csv"));
  fixture.config.train_input = {};
  CHECK_THROWS_WITH(fixture.start(), Contains("no input is configured"));
  fixture.config.model = {};
  CHECK_THROWS_WITH(fixture.start(), Contains("no model is configured"));
}

TEST_CASE("a few steps of training lower the loss") {
  Fixture<Regression> fixture;
  use_plugin("optim");
  Regression& task = fixture.start();
  const auto input = fixture.input(Phase::training);
  const Batch batch = input->get_next()->to(*fixture.device);
  FpropContext context;
  const auto loss = [&] {
    const NestedMap outputs = task.inference_step(batch, *fixture.model, context);
    return static_cast<double>(task.build_losses(batch, outputs, context).value.item());
  };
  const double before = loss();
  Tape tape;
  for (int step = 0; step < 30; ++step) {
    tape.clear();
    Tensor value;
    {
      Tape::Recording recording(tape);
      context.train = true;
      value = task.build_losses(batch, fixture.model->fprop(batch, context), context).value;
    }
    fixture.store->begin_gradients();
    tape.backward(value);
    fixture.store->end_gradients();
    const NoGrad no_grad;
    for (const auto& parameter : fixture.store->parameters()) {
      auto values = parameter->value().to_host<float>();
      const auto gradient = parameter->gradient().to_host<float>();
      for (std::size_t i = 0; i < values.size(); ++i) values[i] -= 0.05F * gradient[i];
      parameter->assign(Tensor::from<float>(*fixture.device, values, parameter->shape()));
    }
  }
  CHECK(loss() < before / 2);
}

TEST_CASE("the configs of the tabular plugin survive the way to a file, and their rules hold") {
  RegressionConfig regression;
  regression.label = "y";
  regression.impute_columns = {{"a", tabular::Impute::median}};
  regression.loss = RegressionLoss::huber;
  check_round_trip(regression);
  ClassificationConfig config;
  config.label = "y";
  check_round_trip(config);
  tabular::MlpConfig mlp;
  mlp.category_sizes = {3, 4};
  check_round_trip(mlp);

  config.features = {"a", "y"};
  config.ignore = {"b", "y"};
  config.numeric = {"c"};
  config.categorical = {"c"};
  Diagnostics diagnostics;
  config.validate(diagnostics);
  std::vector<std::string> fields;
  for (const Diagnostic& problem : diagnostics.list()) fields.push_back(problem.path);
  CHECK(fields == std::vector<std::string>{"ignore", "features", "ignore", "categorical"});
}

}  // namespace tabular_task_test
