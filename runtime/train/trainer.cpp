// SPDX-License-Identifier: Apache-2.0
#include "train/trainer.h"

#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include "train/batch_size.h"
#include "train/prefetch.h"
#include "train/state_value.h"
#include "trivet/error.h"
#include "trivet/registry.h"
#include "trivet/thread_pool.h"

namespace trivet {
namespace {

// Gives what leaves an input the name of its plugin and its place in the config.
std::optional<Batch> next_batch(Input& input, const ConfigOf<Input>& config) {
  const RegistryItem* item = registry().find(Input::kKind, config.key());
  if (item == nullptr) return input.get_next();
  std::optional<Batch> batch;
  Registry::guard(*item, config.origin(), config.path(), [&] { batch = input.get_next(); });
  return batch;
}

// What a step of a task throws that is no Error of ours still tells which step it was.
template <class Body>
auto in_step(std::string_view kind, std::int64_t step, Body&& body) {
  try {
    return body();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& failure) {
    throw RunError(fmt::format("{} step {} failed: {}", kind, step, failure.what()),
                   {.path = "task"});
  }
}

void reset(Metrics& metrics) {
  for (const auto& metric : metrics) metric->reset_state();
}

void merge_results(const Metrics& metrics, Logs& logs) {
  for (const auto& metric : metrics) logs.merge(metric->result());
}

Value save_metrics(const Metrics& metrics) {
  Value states = Value::array();
  for (const auto& metric : metrics) states.push_back(metric->save_state());
  return states;
}

void restore_metrics(const Value& states, const Metrics& metrics) {
  if (states.items().size() != metrics.size()) {
    throw RunError(fmt::format("the checkpoint holds the state of {} metrics, the task has {}",
                               states.items().size(), metrics.size()));
  }
  for (std::size_t i = 0; i < metrics.size(); ++i) metrics[i]->restore_state(states.items()[i]);
}

ConfigError missing(std::string field, std::string example) {
  return ConfigError(Problem{.path = "trainer." + field,
                             .what = "training needs it, and it is not set",
                             .hint = "for example " + std::move(example)});
}

}  // namespace

struct DefaultTrainer::Training {
  Training(Device& device) : loss(device) {}

  std::unique_ptr<Learner> learner;
  Metrics metrics;
  std::unique_ptr<Input> input;
  LossMean loss;
  LogMeans logs;
};

struct DefaultTrainer::Evaluation {
  Metrics metrics;
  std::unique_ptr<Input> input;
  bool used = false;  // the input has given batches
};

DefaultTrainer::DefaultTrainer(Config config, TrainerContext& context)
    : config_(std::move(config)),
      task_(context.task),
      device_(context.device),
      observer_(context.observer),
      key_(context.key),
      evaluates_(context.eval),
      store_(context.device, context.key) {
  if (context.train && !config_.learning_rate.has_value()) {
    throw missing("learning_rate", "learning_rate = 0.001");
  }
  Scope root(store_);
  model_ = task_.build_model(root);
  store_.build();
  if (context.train) build_training();
}

DefaultTrainer::~DefaultTrainer() = default;

void DefaultTrainer::build_training() {
  training_ = std::make_unique<Training>(device_);
  training_->learner =
      std::make_unique<Learner>(store_, task_.create_optimizer(config_.optimizer),
                                make(config_.learning_rate), config_.gradient_clip);
  training_->metrics = task_.build_metrics(true);
  training_->input = build_input(task_.config().train_input, true);
}

std::unique_ptr<Input> DefaultTrainer::build_input(const ConfigOf<Input>& config, bool training) {
  InputContext context{.training = training,
                       .name = training ? "task.train_input" : "task.eval_input"};
  std::unique_ptr<Input> input = task_.build_inputs(config, context);
  const Value* set = config.fields().find("prefetch");
  const std::int64_t depth = set != nullptr ? set->as_integer() : InputConfig{}.prefetch;
  if (depth == 0) return input;
  return std::make_unique<Prefetch>(std::move(input), depth);
}

DefaultTrainer::Training& DefaultTrainer::training() {
  if (!training_) throw Error("this trainer was made for evaluation only");
  return *training_;
}

DefaultTrainer::Evaluation& DefaultTrainer::evaluation() {
  if (!evaluates_) throw Error("this trainer was made for training only");
  if (!evaluation_) {
    auto made = std::make_unique<Evaluation>();
    made->metrics = task_.build_metrics(false);
    made->input = build_input(task_.config().eval_input, false);
    evaluation_ = std::move(made);
  }
  return *evaluation_;
}

FpropContext DefaultTrainer::step_context(bool train) const {
  FpropContext context;
  context.train = train;
  context.step = global_step_;
  context.key = key_.fold(static_cast<std::uint64_t>(global_step_));
  return context;
}

void DefaultTrainer::initialize() {
  task_.initialize(store_);
  if (auto* prefetch = training_ ? dynamic_cast<Prefetch*>(training_->input.get()) : nullptr) {
    prefetch->start();
  }
}

void DefaultTrainer::train(std::int64_t target) {
  const FlushDenormals flush;
  training();
  while (global_step_ < target && !exhausted_) {
    if (observer_.stop_requested()) return;
    exhausted_ = !train_one();
    if (evaluates_) evaluation();
  }
}

bool DefaultTrainer::train_one() {
  Training& training = *training_;
  const std::optional<Batch> batch = next_batch(*training.input, task_.config().train_input);
  if (!batch) return false;
  const BatchSize size = size_of(*batch);
  const double learning_rate = training.learner->learning_rate();
  double loss = std::numeric_limits<double>::quiet_NaN();
  const bool read_loss = device_.host_visible() || observer_.wants_loss();
  device_.begin_step();
  in_step("training", global_step_ + 1, [&] {
    FpropContext context = step_context(true);
    StepState state{*model_, store_, training.learner.get(), training.metrics, context};
    const StepOutput output = task_.train_step(*batch, state);
    if (!output.loss.defined()) throw RunError("the task's train_step gave no loss");
    training.loss.add(output.loss);
    training.logs.add(output.logs);
    if (read_loss) loss = output.loss.item();
  });
  device_.end_step();
  if (read_loss) check_loss(loss, learning_rate, size.rows);
  ++global_step_;
  observer_.on_train_step(global_step_, loss, size.examples);
  return true;
}

void DefaultTrainer::check_loss(double loss, double learning_rate, std::int64_t batch_size) const {
  const bool finite = std::isfinite(loss);
  if (finite && loss <= config_.loss_upper_bound) return;
  const std::string bound =
      finite ? fmt::format(", above trainer.loss_upper_bound = {}", config_.loss_upper_bound) : "";
  throw RunError(fmt::format("the training loss is {} at step {}{} (learning rate {}, batch size "
                             "{})",
                             std::isnan(loss) ? "not a number" : fmt::format("{}", loss),
                             global_step_ + 1, bound, learning_rate, batch_size),
                 {.hint = "lower trainer.learning_rate, or set trainer.gradient_clip.global_norm; "
                          "nothing of this step is saved"});
}

Logs DefaultTrainer::train_logs() {
  Training& training = this->training();
  Logs logs;
  if (training.loss.count() == 0) return logs;
  const double mean = training.loss.mean();
  if (!device_.host_visible()) check_loss(mean, training.learner->learning_rate(), 0);
  logs.set("training_loss", mean);
  merge_results(training.metrics, logs);
  logs.merge(training.logs.means());
  logs.set("learning_rate", training.learner->learning_rate());
  training.loss.reset();
  training.logs.reset();
  reset(training.metrics);
  return logs;
}

Logs DefaultTrainer::evaluate(std::int64_t steps) {
  const FlushDenormals flush;
  Evaluation& evaluation = this->evaluation();
  if (evaluation.used) evaluation.input->reset();
  evaluation.used = true;
  reset(evaluation.metrics);
  double loss_sum = 0, weight_sum = 0;
  std::unique_ptr<AggregatedLogs> aggregated;
  std::int64_t done = 0;
  while (steps < 0 || done < steps) {
    if (observer_.stop_requested()) return {};
    const auto batch = next_batch(*evaluation.input, task_.config().eval_input);
    if (!batch) break;
    device_.begin_step();
    in_step("evaluation", done + 1, [&] {
      FpropContext context = step_context(false);
      StepState state{*model_, store_, nullptr, evaluation.metrics, context};
      const StepOutput output = task_.validation_step(*batch, state);
      if (output.loss.defined() && output.weight > 0) {
        loss_sum += output.weight * output.loss.item();
        weight_sum += output.weight;
      }
      aggregated = task_.aggregate_logs(std::move(aggregated), output);
    });
    device_.end_step();
    observer_.on_eval_step(++done, size_of(*batch).examples);
  }
  if (done == 0) {
    throw InputError("the evaluation data has no batch", {.path = "task.eval_input"});
  }
  Logs logs;
  if (weight_sum > 0) logs.set("validation_loss", loss_sum / weight_sum);
  merge_results(evaluation.metrics, logs);
  if (aggregated) logs.merge(task_.reduce_aggregated_logs(*aggregated, global_step_));
  return logs;
}

NamedTensors DefaultTrainer::model_tensors() const {
  NamedTensors tensors;
  for (const auto& parameter : store_.parameters()) {
    tensors.emplace_back(parameter->path(), parameter->value());
  }
  return tensors;
}

void DefaultTrainer::save(CheckpointWriter& writer) {
  Training& training = this->training();
  writer.tensors("model", model_tensors());
  writer.tensors("optimizer", training.learner->slots());
  writer.state("trainer", Value::table({{"global_step", global_step_},
                                        {"updates", training.learner->step()},
                                        {"loss", training.loss.save_state()},
                                        {"logs", training.logs.save_state()},
                                        {"metrics", save_metrics(training.metrics)}}));
  writer.state("train_input", training.input->save_state());
}

void DefaultTrainer::restore(const CheckpointReader& reader) {
  NamedTensors model = model_tensors();
  reader.tensors("model", model);
  const Value& state = reader.state("trainer");
  global_step_ = member(state, "global_step").as_integer();
  exhausted_ = false;
  if (!training_) return;
  NamedTensors slots = training_->learner->slots();
  reader.tensors("optimizer", slots);
  training_->learner->set_step(member(state, "updates").as_integer());
  training_->loss.restore_state(member(state, "loss"));
  training_->logs.restore_state(member(state, "logs"));
  restore_metrics(member(state, "metrics"), training_->metrics);
  training_->input->restore_state(reader.state("train_input"));
}

}  // namespace trivet
