// SPDX-License-Identifier: Apache-2.0
// Several tasks trained together: the parts of a step, the logs, and the positions of the inputs.
#include "multitask/multi_task.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "multitask/inputs.h"
#include "support/plugins.h"
#include "support/shell.h"
#include "trivet/error.h"
#include "trivet/plugin/registry.h"
#include "trivet/task.h"
#include "trivet/train/learner_options.h"

using namespace trivet;
using Catch::Contains;

namespace {

Value images(std::int64_t seed, std::int64_t batch_size) {
  return Value::table({{"type", "data/Synthetic"},
                       {"image_shape", Value::array({4, 4, 1})},
                       {"num_classes", 3},
                       {"examples", 12},
                       {"batch_size", batch_size},
                       {"seed", seed}});
}

Value mlp(std::int64_t hidden) {
  return Value::table({{"type", "vision/Mlp"},
                       {"image_shape", Value::array({4, 4, 1})},
                       {"hidden_dims", Value::array({hidden})},
                       {"num_classes", 3}});
}

Value single(std::int64_t seed) {
  return Value::table({{"type", "vision/ImageClassification"},
                       {"num_classes", 3},
                       {"top_k", 1},
                       {"train_input", images(seed, 4)},
                       {"eval_input", images(seed, 5)}});
}

Value entry(const std::string& name, std::int64_t seed, double weight = 1) {
  return Value::table({{"name", name}, {"weight", weight}, {"task", single(seed)}});
}

Value two(double first = 1, double second = 1) {
  return Value::table(
      {{"model", mlp(6)}, {"tasks", Value::array({entry("a", 1, first), entry("b", 2, second)})}});
}

// The parts that a trainer has around a task.
struct Bench {
  Bench(const std::string& key, Value fields,
        const ConfigOf<Optimizer>& optimizer = ConfigOf<Optimizer>("optim/Sgd"), EmaConfig ema = {})
      : device(test::open_device("tiny/Backend")) {
    for (const char* plugin : {"multitask", "vision", "nn", "data", "optim"}) {
      test::use_plugin(plugin);
    }
    TaskContext context{*device, {}};
    task = make(ConfigOf<Task>(key, std::move(fields)), context);
    store = std::make_unique<ParameterStore>(*device, RngKey(5));
    Scope root(*store);
    model = task->build_model(task->config().model, root);
    store->build();
    std::vector<LearnerRule> rules;
    rules.push_back({.optimizer = make(optimizer),
                     .learning_rate = make(
                         ConfigOf<Schedule>("optim/Constant", Value::table({{"value", 0.5}})))});
    learner = std::make_unique<Learner>(*store, std::move(rules), LearnerOptions{.ema = ema});
    metrics = task->build_metrics(Phase::training);
  }

  std::unique_ptr<Input> input(Phase phase) {
    InputContext context{.phase = phase};
    return task->build_inputs(
        phase == Phase::training ? task->config().train_input : task->config().eval_input, context);
  }
  StepOutput step(const Batch& batch) {
    Learner::Step update = learner->begin();
    return step_of(batch, update);
  }
  // One update by the parts of the batch; the losses of each.
  std::vector<StepOutput> step_in_parts(const Batch& batch, std::int64_t parts) {
    std::vector<StepOutput> outs;
    const std::vector<Batch> cut = task->split_batch(batch, parts);
    Learner::Step update = learner->begin({.parts = std::ssize(cut)});
    for (const Batch& part : cut) outs.push_back(step_of(part, update));
    return outs;
  }
  StepOutput step_of(const Batch& batch, Learner::Step& update) {
    FpropContext context;
    StepState state{*model, *store, &update, metrics, context};
    return task->train_step(batch, state);
  }
  Logs evaluate() {
    Metrics own = task->build_metrics(Phase::evaluation);
    std::unique_ptr<AggregatedLogs> aggregated;
    const auto data = input(Phase::evaluation);
    while (const auto batch = data->get_next()) {
      FpropContext context;
      StepState state{*model, *store, nullptr, own, context};
      aggregated =
          task->aggregate_logs(std::move(aggregated), task->validation_step(*batch, state));
    }
    Logs logs;
    for (const auto& metric : own) logs.merge(metric->result());
    logs.merge(task->reduce_aggregated_logs(*aggregated, 0));
    return logs;
  }
  std::vector<float> values() const {
    std::vector<float> all;
    for (const auto& parameter : store->parameters()) {
      const auto some = parameter->value().to_host<float>();
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }

  std::unique_ptr<Device> device;
  std::unique_ptr<Task> task;
  std::unique_ptr<ParameterStore> store;
  std::unique_ptr<Model> model;
  std::unique_ptr<Learner> learner;
  Metrics metrics;
};

Value single_with_model(std::int64_t seed) {
  Value fields = single(seed);
  fields.erase("type");
  fields.set("model", mlp(6));
  return fields;
}

std::vector<std::string> names(const Logs& logs) {
  std::vector<std::string> all;
  for (const auto& [name, value] : logs) all.push_back(name);
  return all;
}

std::string problems_of(const Value& fields) {
  Diagnostics diagnostics;
  check_rules<multitask::JointConfig>(fields, "task", diagnostics);
  std::string text;
  for (const Diagnostic& problem : diagnostics.list()) text += to_string(problem) + "\n";
  return text;
}

}  // namespace

TEST_CASE("every task of a continuous evaluation finds its own files") {
  for (const char* plugin : {"multitask", "tabular", "nn", "data"}) test::use_plugin(plugin);
  const test::TempDir temp;
  const std::string file =
      temp.write("table.csv", "age,city,income\n20,Bonn,1\n30,Ulm,2\n").string();
  const Value rows = Value::table({{"type", "data/Csv"}, {"file", file}, {"batch_size", 2}});
  const auto entry = [&](const std::string& label) {
    return Value::table({{"name", "of_" + label},
                         {"task", Value::table({{"type", "tabular/Regression"},
                                                {"label", label},
                                                {"model", "tabular/Mlp"},
                                                {"train_input", rows},
                                                {"eval_input", rows}})}});
  };
  const ConfigOf<Task> config(
      "multitask/Joint", Value::table({{"tasks", Value::array({entry("age"), entry("income")})}}));
  const auto device = test::open_device("tiny/Backend");
  const auto build = [&](TaskContext context) {
    const auto task = make(config, context);
    ParameterStore store(*device, RngKey(5));
    Scope root(store);
    task->build_model({}, root);
  };
  const auto run = temp / "run", evaluation = temp / "evaluation";
  build({*device, run});
  build({*device, evaluation, run});
  for (const char* task : {"of_age", "of_income"}) {
    CHECK(std::filesystem::exists(run / task / "table.json"));
    CHECK_FALSE(std::filesystem::exists(evaluation / task / "table.json"));
  }
}

TEST_CASE("a step of interleaved training is the step of the task that was drawn") {
  Bench both("multitask/Interleaved", two());
  const auto input = both.input(Phase::training);
  const Batch batch = *input->get_next();
  const bool first = !batch.child("a").empty();
  CHECK(batch.child(first ? "b" : "a").empty());
  CHECK(batch.at("weight").dim(0) == 4);
  Bench alone("vision/ImageClassification", single_with_model(first ? 1 : 2));
  REQUIRE(both.values() == alone.values());
  const StepOutput step = both.step(batch),
                   expected = alone.step(*alone.input(Phase::training)->get_next());
  CHECK(step.loss.item() == expected.loss.item());
  CHECK(both.values() == alone.values());
  const std::string name = first ? "a" : "b";
  CHECK(*step.logs.find(name + "/training_loss") == static_cast<double>(expected.loss.item()));
}

TEST_CASE("a step of interleaved training returns its task's output") {
  Bench bench("multitask/Interleaved", two());
  FpropContext context;
  context.summaries.want();
  Learner::Step update = bench.learner->begin();
  StepState state{*bench.model, *bench.store, &update, bench.metrics, context};
  bench.task->train_step(*bench.input(Phase::training)->get_next(), state);
  const auto& told = context.summaries.entries();
  CHECK(std::any_of(told.begin(), told.end(),
                    [](const Summaries::Entry& entry) { return entry.name == "logits"; }));
}

TEST_CASE("a joint step is one update by the weighted sum of the losses") {
  Bench joint("multitask/Joint", two(2, 0.5));
  Bench a("vision/ImageClassification", single_with_model(1));
  Bench b("vision/ImageClassification", single_with_model(2));
  const std::vector<float> start = joint.values();
  REQUIRE(start == a.values());
  const Batch batch = *joint.input(Phase::training)->get_next();
  CHECK(batch.at("weight").dim(0) == 8);
  const StepOutput step = joint.step(batch);
  const auto loss_a =
      static_cast<double>(a.step(*a.input(Phase::training)->get_next()).loss.item());
  const auto loss_b =
      static_cast<double>(b.step(*b.input(Phase::training)->get_next()).loss.item());
  CHECK(step.loss.item() == Approx(2 * loss_a + 0.5 * loss_b).epsilon(1e-6));
  CHECK(step.weight == 8);
  CHECK(*step.logs.find("a/training_loss") == Approx(loss_a).epsilon(1e-6));
  CHECK(*step.logs.find("b/training_loss") == Approx(loss_b).epsilon(1e-6));
  // Plain gradient descent: the changes add up as the gradients do, but for rounding in f32.
  const std::vector<float> end = joint.values(), end_a = a.values(), end_b = b.values();
  for (std::size_t i = 0; i < start.size(); ++i) {
    const double change = 2 * static_cast<double>(end_a[i] - start[i]) +
                          0.5 * static_cast<double>(end_b[i] - start[i]);
    CHECK(static_cast<double>(end[i] - start[i]) == Approx(change).margin(1e-6));
  }
}

TEST_CASE("training metrics are those of the trained tasks") {
  Bench bench("multitask/Interleaved", two());
  const auto input = bench.input(Phase::training);
  const Batch batch = *input->get_next();
  bench.step(batch);
  const std::string name = batch.child("a").empty() ? "b" : "a";
  Logs logs;
  for (const auto& metric : bench.metrics) logs.merge(metric->result());
  CHECK(names(logs) == std::vector<std::string>{name + "/accuracy"});
  const Value state = bench.metrics[name == "a" ? 0 : 1]->save_state();
  Bench other("multitask/Interleaved", two());
  other.metrics[0]->restore_state(state);
  CHECK(*other.metrics[0]->result().find("a/accuracy") == *logs.find(name + "/accuracy"));
  other.metrics[0]->reset_state();
  CHECK(other.metrics[0]->result().empty());
}

TEST_CASE("an evaluation reports each task's numbers as the task alone would") {
  Bench joint("multitask/Joint", two(2, 0.5)), interleaved("multitask/Interleaved", two(2, 0.5));
  Bench a("vision/ImageClassification", single_with_model(1));
  Bench b("vision/ImageClassification", single_with_model(2));
  const auto alone = [](Bench& bench) {
    double sum = 0, weight = 0;
    Metrics metrics = bench.task->build_metrics(Phase::evaluation);
    const auto data = bench.input(Phase::evaluation);
    while (const auto batch = data->get_next()) {
      FpropContext context;
      StepState state{*bench.model, *bench.store, nullptr, metrics, context};
      const StepOutput step = bench.task->validation_step(*batch, state);
      sum += step.weight * static_cast<double>(step.loss.item());
      weight += step.weight;
    }
    CHECK(weight == 12);  // three batches of five, the last with padding
    Logs logs = metrics[0]->result();
    logs.set("validation_loss", sum / weight);
    return logs;
  };
  const Logs logs = joint.evaluate(), of_a = alone(a), of_b = alone(b);
  for (const char* number : {"accuracy", "validation_loss"}) {
    CHECK(*logs.find(std::string("a/") + number) == *of_a.find(number));
    CHECK(*logs.find(std::string("b/") + number) == *of_b.find(number));
  }
  CHECK(logs.find("a/macro_recall") != nullptr);
  const double sum = 2 * *of_a.find("validation_loss") + 0.5 * *of_b.find("validation_loss");
  CHECK(*logs.find("validation_loss") == Approx(sum));
  CHECK(*interleaved.evaluate().find("validation_loss") == Approx(sum / 2.5));
}

TEST_CASE("eval_steps limits each task's evaluation") {
  Value fields = two();
  fields.set_path("tasks[0].eval_steps", 2);
  Bench bench("multitask/Joint", fields);
  const auto data = bench.input(Phase::evaluation);
  std::string order;
  while (const auto batch = data->get_next()) order += batch->child("a").empty() ? "b" : "a";
  CHECK(order == "aabbb");
  fields.set_path("tasks[1].eval_steps", 1);
  Bench both("multitask/Joint", fields);
  const auto less = both.input(Phase::evaluation);
  order.clear();
  while (const auto batch = less->get_next()) order += batch->child("a").empty() ? "b" : "a";
  CHECK(order == "aab");
  data->reset();
  CHECK_FALSE(data->get_next()->child("a").empty());
}

TEST_CASE("restored inputs continue with the same batches") {
  const std::string key = GENERATE("multitask/Interleaved", "multitask/Joint");
  const Phase phase = GENERATE(Phase::training, Phase::evaluation);
  INFO(key << (phase == Phase::training ? " training" : " evaluation"));
  Value fields = two(1, 2);
  fields.set_path("tasks[0].eval_steps", 1);  // so that it has more when its turn is over
  Bench bench(key, fields);
  const auto straight = bench.input(phase);
  for (int done = 0; done < 6; ++done) {
    const auto resumed = bench.input(phase);
    resumed->restore_state(straight->save_state());
    const auto expected = straight->get_next(), batch = resumed->get_next();
    REQUIRE(expected.has_value() == batch.has_value());
    if (!expected) break;
    REQUIRE(expected->size() == batch->size());
    for (const auto& [path, tensor] : *expected) {
      INFO(path);
      REQUIRE(batch->at(path).to_bytes() == tensor.to_bytes());
    }
  }
}

TEST_CASE("an input of several tasks starts those of the tasks, once each") {
  class Started final : public Input {
   public:
    explicit Started(int& starts) : starts_(starts) {}
    void start() override { ++starts_; }
    std::optional<Batch> get_next() override { return std::nullopt; }
    void reset() override {}
    Value save_state() const override { return Value::table(); }
    void restore_state(const Value&) override {}

   private:
    int& starts_;
  };
  int first = 0, second = 0;
  std::vector<multitask::Source> sources;
  sources.push_back({.name = "a", .config = {}, .input = std::make_unique<Started>(first)});
  sources.push_back({.name = "b", .config = {}, .input = std::make_unique<Started>(second)});
  multitask::JointInput input(std::move(sources));
  CHECK(first + second == 0);
  input.start();
  CHECK(first == 1);
  CHECK(second == 1);
}

TEST_CASE("the end of one task's data ends joint training") {
  Value fields = two();
  fields.set_path("tasks[1].task.train_input.epochs", 1);
  Bench bench("multitask/Joint", fields);
  const auto data = bench.input(Phase::training);
  int batches = 0;
  while (data->get_next()) ++batches;
  CHECK(batches == 3);
}

TEST_CASE("variables of a task's own model are below its name, the shared model's are not") {
  Value fields = two();
  fields.set_path("tasks[1].task.model", mlp(2));
  Bench bench("multitask/Joint", fields);
  CHECK(bench.store->find("hidden_0/w")->shape() == Shape{16, 6});
  CHECK(bench.store->find("b/hidden_0/w")->shape() == Shape{16, 2});
  CHECK(bench.store->find("a/hidden_0/w") == nullptr);
  bench.step(*bench.input(Phase::training)->get_next());
  CHECK(bench.learner->step() == 1);
}

TEST_CASE("a step of one task does not change the variables and slots of others") {
  // Both keep changing weights whose gradient is 0.
  const std::string name = GENERATE("optim/Sgd", "optim/AdamW");
  Value settings = Value::table({{"weight_decay", 0.1}});
  if (name == "optim/Sgd") settings.set("momentum", 0.9);
  Value fields = two();
  fields.find("tasks")->push_back(entry("c", 3));
  fields.set_path("tasks[1].task.model", mlp(6));
  Bench bench("multitask/Interleaved", fields, ConfigOf<Optimizer>(name, settings),
              {.decay = 0.5, .dynamic_decay = false});
  using Bytes = std::vector<std::byte>;
  const auto tensors = [&] {
    std::vector<std::pair<std::string, Bytes>> all;
    for (const auto& parameter : bench.store->parameters()) {
      all.emplace_back(parameter->path(), parameter->value().to_bytes());
    }
    for (const auto& [path, slot] : bench.learner->slots()) all.emplace_back(path, slot.to_bytes());
    return all;
  };
  const auto data = bench.input(Phase::training);
  int own = 0, shared = 0;
  for (int step = 0; step < 12; ++step) {
    const Batch batch = *data->get_next();
    const bool of_b = !batch.child("b").empty();
    (of_b ? own : shared) += 1;
    const auto before = tensors();
    bench.step(batch);
    const auto after = tensors();
    for (std::size_t i = 0; i < before.size(); ++i) {
      const std::string& path = before[i].first;
      INFO(name << " step " << step << (of_b ? " of b: " : " of a or c: ") << path);
      const bool used = path.starts_with("b/") == of_b;
      REQUIRE((after[i].second != before[i].second) == used);
    }
  }
  CHECK(own >= 2);
  CHECK(shared >= 2);
  CHECK(bench.learner->step() == 12);
}

TEST_CASE("a joint step in parts equals the step of the whole batch") {
  Value fields = two(2, 0.5);
  const std::int64_t rows = GENERATE(4, 5, 7);
  const bool even = rows == 4;
  INFO((even ? "equal parts" : "parts of other sizes, some rows only padding"));
  if (!even) {
    // Five rows and seven of twelve examples, or the other way round, cut in three: the second
    // batch of seven is filled with padding.
    fields.set_path("tasks[0].task.train_input.batch_size", rows);
    fields.set_path("tasks[0].task.train_input.epochs", 1);
    fields.set_path("tasks[1].task.train_input.batch_size", 12 - rows);
    fields.set_path("tasks[1].task.train_input.epochs", 1);
  }
  Bench whole("multitask/Joint", fields), cut("multitask/Joint", fields);
  const auto data = whole.input(Phase::training);
  int steps = 0;
  while (steps < 3) {
    const auto batch = data->get_next();
    if (!batch) break;
    ++steps;
    const StepOutput expected = whole.step(*batch);
    const std::vector<StepOutput> parts = cut.step_in_parts(*batch, even ? 2 : 3);
    REQUIRE(parts.size() == (even ? 2 : 3));
    for (const char* name : {"a/training_loss", "b/training_loss"}) {
      double mean = 0;
      for (const StepOutput& part : parts) {
        mean += *part.logs.find(name) / static_cast<double>(parts.size());
      }
      // Sums in another order, in f32.
      CHECK(mean == Approx(*expected.logs.find(name)).epsilon(1e-5));
    }
    const std::vector<float> a = whole.values(), b = cut.values();
    for (std::size_t i = 0; i < a.size(); ++i) CHECK(b[i] == Approx(a[i]).margin(1e-5));
  }
  CHECK(steps == (even ? 3 : 2));
}

TEST_CASE("a step of one task is cut as the task cuts its own batches") {
  Bench whole("multitask/Interleaved", two()), cut("multitask/Interleaved", two());
  const Batch batch = *whole.input(Phase::training)->get_next();
  const std::string name = batch.child("a").empty() ? "b" : "a";
  const auto parts = cut.task->split_batch(batch, 4);
  REQUIRE(parts.size() == 4);
  CHECK(parts[3].at("weight").dim(0) == 1);
  CHECK(parts[3].at(name + "/image").dim(0) == 1);
  CHECK_FALSE(parts[3].contains("share"));
  whole.step(batch);
  cut.step_in_parts(batch, 4);
  const std::vector<float> a = whole.values(), b = cut.values();
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(b[i] == Approx(a[i]).margin(1e-5));
}

TEST_CASE("a joint batch has at most as many parts as its smallest task has rows") {
  Value fields = two();
  fields.set_path("tasks[1].task.train_input.batch_size", 2);
  Bench bench("multitask/Joint", fields);
  const auto parts = bench.task->split_batch(*bench.input(Phase::training)->get_next(), 4);
  REQUIRE(parts.size() == 2);
  CHECK(parts[0].at("a/image").dim(0) == 2);
  CHECK(parts[0].at("b/image").dim(0) == 1);
  CHECK(parts[0].at("weight").dim(0) == 3);
}

TEST_CASE("the first loss of several tasks is that of one of them, or of all") {
  const auto first = [](Bench& bench) {
    return static_cast<const ExpectedInitialLoss*>(bench.task->extension(kTaskExpectedInitialLoss))
        ->expected_initial_loss();
  };
  Bench interleaved("multitask/Interleaved", two()), joint("multitask/Joint", two(2, 0.5));
  const ExpectedInitialLoss::Range chance = chance_of(3);
  CHECK(first(interleaved).low == chance.low);
  CHECK(first(interleaved).high == chance.high);
  CHECK(first(joint).low == Approx(2.5 * chance.low));
  CHECK(first(joint).high == Approx(2.5 * chance.high));
  CHECK_THAT(first(joint).reason, Contains("a: ln(3)") && Contains("b: ln(3)"));
}

TEST_CASE("invalid lists of tasks are refused with the position") {
  CHECK_THAT(problems_of(Value::table({{"tasks", Value::array({})}})), Contains("task.tasks"));
  Value fields = two();
  fields.set_path("tasks[1].name", "a");
  CHECK_THAT(problems_of(fields), Contains("task.tasks[1].name") && Contains("two tasks"));
  fields.set_path("tasks[1].name", "a/b");
  CHECK_THAT(problems_of(fields), Contains("task.tasks[1].name") && Contains("'a/b' is not a"));
  fields = two();
  fields.set_path("tasks[0].eval_steps", 0);
  CHECK_THAT(problems_of(fields), Contains("task.tasks[0].eval_steps"));
  fields = two();
  fields.set_path("tasks[0].task.init_checkpoint", "runs/1");
  CHECK_THAT(problems_of(fields), Contains("task.tasks[0].task.init_checkpoint"));
  fields = two();
  fields.set("train_input", images(1, 4));
  CHECK_THAT(problems_of(fields), Contains("task.train_input"));
}
