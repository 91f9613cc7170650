// SPDX-License-Identifier: Apache-2.0
#include "train/trainer.h"

#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "train/bad_steps.h"
#include "train/batch_size.h"
#include "train/evaluation.h"
#include "train/learner_setup.h"
#include "train/prefetch.h"
#include "train/state_value.h"
#include "train/step_parts.h"
#include "train/weight_summaries.h"
#include "trivet/error.h"
#include "trivet/ops.h"
#include "trivet/optim_update.h"
#include "trivet/thread_pool.h"

namespace trivet {
namespace {

// The first update starts an average, so that of no update is none.
bool has_averages(const Value& state) {
  return member(state, "ema").as_boolean() && member(state, "updates").as_integer() > 0;
}

}  // namespace

struct DefaultTrainer::Training {
  Training(Device& device, const TrainerConfig& config) : loss(device), bad_steps(config) {}

  std::unique_ptr<Learner> learner;
  Metrics metrics;
  std::unique_ptr<Input> input;
  LossMean loss;
  LogMeans logs;
  BadSteps bad_steps;

  // As they were before the step, while steps may be left out.
  struct Before {
    Tensor states;
    Value metrics;
    LogMeans logs;
  } before;
};

DefaultTrainer::DefaultTrainer(Config config, TrainerContext& context)
    : DefaultTrainer(std::move(config), TrainingParts(context.task.config()), context) {}

DefaultTrainer::DefaultTrainer(Config config, TrainingParts parts, TrainerContext& context)
    : config_(std::move(config)),
      parts_(std::move(parts)),
      task_(context.task),
      device_(context.device),
      observer_(context.observer),
      key_(context.key),
      evaluates_(context.eval),
      store_(context.device, context.key) {
  if (context.train) check_learner(config_, parts_.train_input);
  Scope root(store_);
  model_ = task_.build_model(parts_.model, root);
  token_count_ = static_cast<const TokenCount*>(task_.extension(kTaskTokenCount));
  freeze(store_, config_.frozen);
  if (!config_.trainable.empty()) freeze_others(store_, config_.trainable);
  store_.build();
  if (context.train) build_training();
}

DefaultTrainer::~DefaultTrainer() = default;

void DefaultTrainer::build_training() {
  training_ = std::make_unique<Training>(device_, config_);
  training_->learner = make_learner(config_, task_, store_);
  if (training_->bad_steps.skips()) {
    training_->before.states = Tensor::zeros(device_, store_.states().shape());
  }
  training_->metrics = task_.build_metrics(true);
  training_->input = build_input(task_, parts_.train_input, true);
}

DefaultTrainer::Training& DefaultTrainer::training() {
  if (!training_) throw Error("this trainer was made for evaluation only");
  return *training_;
}

Evaluation& DefaultTrainer::evaluation() {
  if (!evaluates_) throw Error("this trainer was made for training only");
  if (!evaluation_) {
    evaluation_ = std::make_unique<Evaluation>(task_, parts_.eval_input, config_.validation_data);
    if (next_evaluation_) evaluation_->restore_state(*next_evaluation_);
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
  const std::optional<Batch> batch = next_batch(*training.input, parts_.train_input);
  if (!batch) return false;
  const BatchSize size = size_of(*batch);
  BadSteps& bad_steps = training.bad_steps;
  BadSteps::Step step{.number = global_step_ + 1,
                      .loss = std::numeric_limits<double>::quiet_NaN(),
                      .learning_rate = training.learner->learning_rate(),
                      .batch_size = size.rows};
  const bool read_loss = device_.host_visible() || bad_steps.watches() || observer_.wants_loss();
  const std::vector<Batch> parts = task_.split_batch(*batch, config_.gradient_accumulation);
  training.learner->accumulate(static_cast<std::int64_t>(parts.size()));
  training.learner->set_loss_bound(bad_steps.bound(step.number));
  if (bad_steps.skips()) keep_before_step();
  Summaries summaries;
  if (wants_summaries(step.number)) summaries.want();
  device_.begin_step();
  in_step("training", step.number, [&] {
    const Tensor mean_loss = train_on(parts, summaries);
    if (!training.learner->last_update().skipped) training.loss.add(mean_loss);
    if (read_loss) step.loss = mean_loss.item();
    if (config_.summary_histograms) add_weight_histograms(store_, summaries);
  });
  device_.end_step();
  if (!training.learner->last_update().skipped) {
    if (read_loss) bad_steps.check(step);
  } else if (bad_steps.skips()) {
    put_back();
    bad_steps.add_skipped(step);
  } else {
    bad_steps.refuse(step);
  }
  ++global_step_;
  if (summaries.wanted()) observer_.on_summaries("train", global_step_, summaries);
  if (token_count_ != nullptr) observer_.on_train_tokens(token_count_->tokens(*batch));
  observer_.on_train_step(global_step_, step.loss, size.examples);
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
    training_->learner->add_noise(context.key);
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

void DefaultTrainer::keep_before_step() {
  Training::Before& before = training_->before;
  assign(before.states, store_.states());
  before.metrics = save_metrics(training_->metrics);
  before.logs = training_->logs;
}

// The learner changed nothing; what the layers and the task changed goes back, too.
void DefaultTrainer::put_back() {
  const Training::Before& before = training_->before;
  assign(store_.states(), before.states);
  restore_metrics(before.metrics, training_->metrics);
  training_->logs = before.logs;
}

Logs DefaultTrainer::train_logs() {
  Training& training = this->training();
  Logs logs;
  if (training.loss.count() == 0) return logs;
  const double mean = training.loss.mean();
  if (!device_.host_visible()) {
    training.bad_steps.check(
        {.number = global_step_, .loss = mean, .learning_rate = training.learner->learning_rate()});
  }
  logs.set("training_loss", mean);
  logs.merge(results(training.metrics));
  logs.merge(training.logs.means());
  for (const auto& [name, rate] : training.learner->learning_rates()) {
    logs.set(name.empty() ? "learning_rate" : "learning_rate/" + name, rate);
  }
  logs.merge(training.bad_steps.logs());
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
  FpropContext context = step_context(false);
  if (wants_summaries(0)) context.summaries.want();
  return evaluation.run(*model_, store_, context, steps, observer_);
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
  const std::map<std::string_view, Tensor> average_of(averages.begin(), averages.end());
  for (auto& [path, tensor] : tensors) {
    if (const auto found = average_of.find(path); found != average_of.end()) tensor = found->second;
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
                                        {"ema_states", !config_.ema.trainable_weights_only},
                                        {"recovery_trials", training.bad_steps.trials()},
                                        {"loss", training.loss.save_state()},
                                        {"logs", training.logs.save_state()},
                                        {"metrics", save_metrics(training.metrics)}}));
  writer.state("train_input", training.input->save_state());
  if (config_.validation_data == ValidationData::start_over) return;
  if (evaluation_) next_evaluation_ = evaluation_->save_state();
  if (next_evaluation_) writer.state("eval_input", *next_evaluation_);
}

// Where nothing is trained the averages are the weights.
void DefaultTrainer::restore_averages(const CheckpointReader& reader) {
  const bool states = !config_.ema.trainable_weights_only &&
                      member(reader.state("trainer"), "ema_states").as_boolean();
  NamedTensors weights;
  for (const auto& parameter : store_.parameters()) {
    if (parameter->trainable() || states) {
      weights.emplace_back(parameter->path(), parameter->value());
    }
  }
  reader.tensors("ema", weights, false);
}

void DefaultTrainer::restore(const CheckpointReader& reader) {
  restore_all_but_input(reader);
  if (config_.validation_data == ValidationData::go_on && reader.has_state("eval_input")) {
    next_evaluation_ = reader.state("eval_input");
    if (evaluation_) evaluation_->restore_state(*next_evaluation_);
  }
  if (training_) training_->input->restore_state(reader.state("train_input"));
}

void DefaultTrainer::recover(const CheckpointReader& reader) {
  const std::int64_t trials = recovery_trials();
  restore_all_but_input(reader);
  set_recovery_trials(trials + 1);
}

void DefaultTrainer::take_over(const CheckpointReader& last, TakeOver what) {
  if (what.learner) {
    restore_all_but_input(last);
  } else {
    global_step_ = member(last.state("trainer"), "global_step").as_integer();
    restore_sums(last);
  }
  if (what.input) training().input->restore_state(last.state("train_input"));
}

Input& DefaultTrainer::train_input() {
  return *training().input;
}

std::int64_t DefaultTrainer::recovery_trials() {
  return training().bad_steps.trials();
}

void DefaultTrainer::set_recovery_trials(std::int64_t trials) {
  training().bad_steps.set_trials(trials);
}

void DefaultTrainer::restore_all_but_input(const CheckpointReader& reader) {
  NamedTensors model = model_tensors();
  reader.tensors("model", model);
  const Value& state = reader.state("trainer");
  global_step_ = member(state, "global_step").as_integer();
  exhausted_ = false;
  if (training_) {
    restore_learner(reader);
    restore_sums(reader);
  } else if (config_.ema.decay > 0 && has_averages(state)) {
    restore_averages(reader);
  }
}

void DefaultTrainer::restore_learner(const CheckpointReader& reader) {
  const Value& state = reader.state("trainer");
  Learner& learner = *training_->learner;
  NamedTensors slots = learner.slots();
  reader.tensors("optimizer", slots);
  learner.set_step(member(state, "updates").as_integer());
  learner.restart_average();  // of what the checkpoint has no average of
  NamedTensors averages = learner.averages();
  if (averages.empty() || !has_averages(state)) return;
  if (!member(state, "ema_states").as_boolean()) {
    std::erase_if(averages,
                  [&](const auto& entry) { return !store_.find(entry.first)->trainable(); });
  }
  reader.tensors("ema", averages, false);
}

void DefaultTrainer::restore_sums(const CheckpointReader& reader) {
  const Value& state = reader.state("trainer");
  set_recovery_trials(member(state, "recovery_trials").as_integer());
  training_->loss.restore_state(member(state, "loss"));
  training_->logs.restore_state(member(state, "logs"));
  restore_metrics(member(state, "metrics"), training_->metrics);
}

}  // namespace trivet
