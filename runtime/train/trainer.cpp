// SPDX-License-Identifier: Apache-2.0
#include "train/trainer.h"

#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include "train/batch_size.h"
#include "train/learner_setup.h"
#include "train/micro_batches.h"
#include "train/prefetch.h"
#include "train/state_value.h"
#include "train/weight_summaries.h"
#include "trivet/error.h"
#include "trivet/ops.h"
#include "trivet/optim_update.h"
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

}  // namespace

struct DefaultTrainer::Training {
  Training(Device& device) : loss(device) {}

  std::unique_ptr<Learner> learner;
  Metrics metrics;
  std::unique_ptr<Input> input;
  LossMean loss;
  LogMeans logs;
  std::int64_t skipped = 0;  // steps left out since the start of the run
  Tensor states;             // of the model before the step, while steps may be left out
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
  if (context.train) check_learner(config_, task_.config());
  Scope root(store_);
  model_ = task_.build_model(root);
  freeze(store_, config_.frozen);
  store_.build();
  if (context.train) build_training();
}

DefaultTrainer::~DefaultTrainer() = default;

void DefaultTrainer::build_training() {
  training_ = std::make_unique<Training>(device_);
  training_->learner = make_learner(config_, task_, store_);
  if (config_.recovery_max_trials > 0) {
    training_->states = Tensor::zeros(device_, store_.states().shape());
  }
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
  const bool read_loss =
      device_.host_visible() || config_.recovery_max_trials > 0 || observer_.wants_loss();
  const std::vector<Batch> parts = micro_batches(*batch, config_.gradient_accumulation);
  training.learner->accumulate(static_cast<std::int64_t>(parts.size()));
  training.learner->set_loss_bound(loss_bound());
  if (training.states.defined()) assign(training.states, store_.states());
  Summaries summaries;
  if (wants_summaries(global_step_ + 1)) summaries.want();
  device_.begin_step();
  in_step("training", global_step_ + 1, [&] {
    const Tensor mean_loss = train_on(parts, summaries);
    if (!training.learner->last_update().skipped) training.loss.add(mean_loss);
    if (read_loss) loss = mean_loss.item();
    if (config_.summary_histograms) add_weight_histograms(store_, summaries);
  });
  device_.end_step();
  if (training.learner->last_update().skipped) {
    leave_out_step(loss, learning_rate, size.rows);
  } else if (read_loss) {
    check_loss(loss, learning_rate, size.rows);
  }
  ++global_step_;
  if (summaries.wanted()) observer_.on_summaries("train", global_step_, summaries);
  observer_.on_train_step(global_step_, loss, size.examples);
  return true;
}

bool DefaultTrainer::wants_summaries(std::int64_t step) const {
  const std::int64_t interval = config_.summary_interval;
  return interval > 0 && step % interval == 0 && observer_.wants_summaries();
}

// One update; the loss is the mean over the examples of all parts. Summaries are of the first part.
Tensor DefaultTrainer::train_on(const std::vector<Batch>& parts, Summaries& summaries) {
  Tensor loss;
  double weight = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    FpropContext context = step_context(true);
    if (i > 0) context.key = context.key.fold(static_cast<std::uint64_t>(i));
    if (i == 0) context.summaries = std::move(summaries);
    StepState state{*model_, store_, training_->learner.get(), training_->metrics, context};
    const StepOutput output = task_.train_step(parts[i], state);
    if (i == 0) summaries = std::move(context.summaries);
    if (!output.loss.defined()) throw RunError("the task's train_step gave no loss");
    training_->logs.add(output.logs);
    if (parts.size() == 1) return output.loss;
    const NoGrad no_grad;
    const Tensor share = ops::mul(output.loss, static_cast<float>(output.weight));
    loss = i == 0 ? share : ops::add(loss, share);
    weight += output.weight;
  }
  const NoGrad no_grad;
  return ops::mul(loss, static_cast<float>(weight > 0 ? 1 / weight : 0));
}

double DefaultTrainer::loss_bound() const {
  const bool bounded = global_step_ + 1 >= config_.recovery_begin_steps;
  return bounded ? config_.loss_upper_bound : std::numeric_limits<double>::infinity();
}

// The learner changed nothing; what the layers themselves changed goes back, too.
void DefaultTrainer::leave_out_step(double loss, double learning_rate, std::int64_t batch_size) {
  assign(store_.states(), training_->states);
  if (++training_->skipped <= config_.recovery_max_trials) return;
  throw bad_step(loss, learning_rate, batch_size,
                 fmt::format(", after {} steps that were left out (trainer.recovery_max_trials)",
                             config_.recovery_max_trials));
}

void DefaultTrainer::check_loss(double loss, double learning_rate, std::int64_t batch_size) const {
  if (std::isfinite(loss) && loss <= loss_bound()) return;
  throw bad_step(loss, learning_rate, batch_size, "");
}

RunError DefaultTrainer::bad_step(double loss, double learning_rate, std::int64_t batch_size,
                                  const std::string& when) const {
  std::string what = "the training loss is ", bound;
  if (std::isfinite(loss) && loss <= loss_bound()) {
    what = "the gradients are not finite";
  } else if (std::isfinite(loss)) {
    what += fmt::format("{}", loss);
    bound = fmt::format(", above trainer.loss_upper_bound = {}", config_.loss_upper_bound);
  } else {
    what += std::isnan(loss) ? "not a number" : fmt::format("{}", loss);
  }
  return RunError(fmt::format("{} at step {}{}{} (learning rate {}, batch size {})", what,
                              global_step_ + 1, bound, when, learning_rate, batch_size),
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
  for (const auto& [name, rate] : training.learner->learning_rates()) {
    logs.set(name.empty() ? "learning_rate" : "learning_rate/" + name, rate);
  }
  if (training.skipped > 0) logs.set("skipped_steps", static_cast<double>(training.skipped));
  training.loss.reset();
  training.logs.reset();
  reset(training.metrics);
  return logs;
}

Logs DefaultTrainer::evaluate(std::int64_t steps) {
  const FlushDenormals flush;
  Evaluation& evaluation = this->evaluation();
  std::optional<Learner::UseAverages> averages;
  if (training_) averages.emplace(*training_->learner);
  if (evaluation.used) evaluation.input->reset();
  evaluation.used = true;
  reset(evaluation.metrics);
  double loss_sum = 0, weight_sum = 0;
  std::unique_ptr<AggregatedLogs> aggregated;
  Summaries summaries;  // of the first batch
  std::int64_t done = 0;
  while (steps < 0 || done < steps) {
    if (observer_.stop_requested()) return {};
    const auto batch = next_batch(*evaluation.input, task_.config().eval_input);
    if (!batch) break;
    device_.begin_step();
    in_step("evaluation", done + 1, [&] {
      FpropContext context = step_context(false);
      if (done == 0 && wants_summaries(0)) context.summaries.want();
      StepState state{*model_, store_, nullptr, evaluation.metrics, context};
      const StepOutput output = task_.validation_step(*batch, state);
      if (output.loss.defined() && output.weight > 0) {
        loss_sum += output.weight * output.loss.item();
        weight_sum += output.weight;
      }
      aggregated = task_.aggregate_logs(std::move(aggregated), output);
      if (done == 0) summaries = std::move(context.summaries);
    });
    device_.end_step();
    observer_.on_eval_step(++done, size_of(*batch).examples);
  }
  if (done == 0) {
    throw InputError("the evaluation data has no batch", {.path = "task.eval_input"});
  }
  if (summaries.wanted()) observer_.on_summaries("eval", global_step_, summaries);
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

NamedTensors DefaultTrainer::export_tensors() {
  NamedTensors tensors = model_tensors();
  if (!training_ || training_->learner->step() == 0) return tensors;
  const NamedTensors averages = training_->learner->averages();
  for (auto& [path, tensor] : tensors) {
    for (const auto& [name, average] : averages) {
      if (name == path) tensor = average;
    }
  }
  return tensors;
}

void DefaultTrainer::save(CheckpointWriter& writer) {
  Training& training = this->training();
  writer.tensors("model", model_tensors());
  writer.tensors("optimizer", training.learner->slots());
  const NamedTensors averages = training.learner->averages();
  if (!averages.empty()) writer.tensors("ema", averages);
  writer.state("trainer", Value::table({{"global_step", global_step_},
                                        {"updates", training.learner->step()},
                                        {"ema", !averages.empty()},
                                        {"skipped", training.skipped},
                                        {"loss", training.loss.save_state()},
                                        {"logs", training.logs.save_state()},
                                        {"metrics", save_metrics(training.metrics)}}));
  writer.state("train_input", training.input->save_state());
}

// Where nothing is trained the averages are the weights.
void DefaultTrainer::restore_averages(const CheckpointReader& reader) {
  NamedTensors weights;
  for (const auto& parameter : store_.parameters()) {
    if (parameter->trainable()) weights.emplace_back(parameter->path(), parameter->value());
  }
  reader.tensors("ema", weights);
}

void DefaultTrainer::restore(const CheckpointReader& reader) {
  NamedTensors model = model_tensors();
  reader.tensors("model", model);
  const Value& state = reader.state("trainer");
  global_step_ = member(state, "global_step").as_integer();
  exhausted_ = false;
  // The first update starts an average, so that of no update is none.
  const bool averaged =
      member(state, "ema").as_boolean() && member(state, "updates").as_integer() > 0;
  if (!training_) {
    if (averaged && config_.ema.decay > 0) restore_averages(reader);
    return;
  }
  NamedTensors slots = training_->learner->slots();
  reader.tensors("optimizer", slots);
  training_->learner->set_step(member(state, "updates").as_integer());
  NamedTensors averages = training_->learner->averages();
  if (averaged && !averages.empty()) reader.tensors("ema", averages);
  if (!averaged) training_->learner->restart_average();
  training_->skipped = member(state, "skipped").as_integer();
  training_->loss.restore_state(member(state, "loss"));
  training_->logs.restore_state(member(state, "logs"));
  restore_metrics(member(state, "metrics"), training_->metrics);
  training_->input->restore_state(reader.state("train_input"));
}

}  // namespace trivet
