// SPDX-License-Identifier: Apache-2.0
#include "train/default_trainer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "evaluation/decoded_examples.h"
#include "evaluation/evaluations.h"
#include "step/batch_size.h"
#include "step/gather_states.h"
#include "step/step_parts.h"
#include "train/default_trainer_training.h"
#include "train/learner_setup.h"
#include "train/weight_summaries.h"
#include "trivet/backend/thread_pool.h"
#include "trivet/error.h"
#include "trivet/ops.h"
#include "trivet/plugin/plugin_call.h"
#include "trivet/tensor/meta_device.h"
#include "trivet/tensor/profile.h"
#include "trivet/train/optim_update.h"

namespace trivet {
namespace {

// A meta device has no other processes, and shows the memory and work of one.
Mesh mesh_of(const TrainerContext& context) {
  return is_meta(context.device) ? Mesh::of_first_process(context.mesh)
                                 : Mesh(context.mesh, context.processes);
}

MeshShards shards_of(const TrainerContext& context) {
  return is_meta(context.device) ? MeshShards::of_first_process(context.mesh, context.peers)
                                 : MeshShards(context.mesh, context.processes);
}

}  // namespace

DefaultTrainer::DefaultTrainer(Config config, TrainerContext& context)
    : DefaultTrainer(std::move(config), TrainingParts(context.task.config()), context, nullptr) {}

DefaultTrainer::DefaultTrainer(Config config, TrainingParts parts, TrainerContext& context,
                               std::unique_ptr<Evaluations> evaluations)
    : config_(std::move(config)),
      parts_(std::move(parts)),
      task_(context.task),
      device_(context.device),
      observer_(context.observer),
      key_(context.key),
      mesh_(mesh_of(context)),
      mesh_shards_(shards_of(context)),
      batch_of_(batch_of(parts_.train_input)),
      store_(context.device, context.key) {
  if (context.train) check_learner(config_, parts_.train_input);
  Scope root(store_, mesh_);
  model_ = build_model(task_, parts_.model, root);
  token_count_ = static_cast<const TokenCount*>(task_.extension(kTaskTokenCount));
  freeze(store_, config_.frozen);
  if (!config_.trainable.empty()) freeze_others(store_, config_.trainable);
  // Data that is missing is found before a large model is filled.
  if (context.train) build_training();
  if (context.eval) {
    const Evaluations::Options options{.eval_input = parts_.eval_input,
                                       .main = context.eval_main,
                                       .sets = context.eval_sets,
                                       .data = config_.validation_data,
                                       .seed = decode_seed(key_),
                                       .shards = shard_range(),
                                       .processes = mesh_shards_.group()};
    evaluations_ = std::move(evaluations);
    if (evaluations_) {
      evaluations_->use_main(options);
    } else {
      evaluations_ = std::make_unique<Evaluations>(task_, options);
    }
  }
  if (context.train) {
    build_learner(context);
    note_whole_weights();
    training_->replicas.emplace(mesh_shards_.all(), store_, context.mesh.check_interval);
  } else {
    store_.build();
  }
}

DefaultTrainer::~DefaultTrainer() = default;

// The whole batch, unless the hosts that share the data are the processes.
Shards::BatchOf DefaultTrainer::batch_of(const ConfigOf<Input>& input) const {
  const bool has_own =
      mesh_shards_.group() != nullptr && input.fields().integer_or("num_infeed_hosts", 1) > 1;
  return has_own ? Shards::BatchOf::own_shards : Shards::BatchOf::all_shards;
}

ShardRange DefaultTrainer::shard_range() const {
  return {
      .first = mesh_shards_.first(), .count = mesh_shards_.count(), .total = mesh_shards_.total()};
}

// What this process counts in its batch becomes what all count.
std::int64_t DefaultTrainer::count_of_all(std::int64_t own) const {
  if (batch_of_ == Shards::BatchOf::all_shards) return own;
  ProcessGroup& group = *mesh_shards_.group();
  std::vector<std::int64_t> all(static_cast<std::size_t>(group.size()));
  group.all_gather(std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(all)));
  return std::accumulate(all.begin(), all.end(), std::int64_t{0});
}

void DefaultTrainer::build_training() {
  training_ = std::make_unique<Training>(device_, config_);
  training_->sums.emplace(task_, shard_range());
  training_->input = build_input(task_, parts_.train_input, Phase::training, "task.train_input");
}

DefaultTrainer::Training& DefaultTrainer::training() {
  if (!training_) throw Error("this trainer was built for evaluation only");
  return *training_;
}

Evaluations& DefaultTrainer::evaluations() {
  if (!evaluations_) throw Error("this trainer was built for training only");
  return *evaluations_;
}

std::unique_ptr<Evaluations> DefaultTrainer::release_evaluations() {
  return std::move(evaluations_);
}

FpropContext DefaultTrainer::step_context() const {
  FpropContext context;
  context.step = global_step_;
  context.key = key_.fold(static_cast<std::uint64_t>(global_step_));
  return context;
}

void DefaultTrainer::initialize() {
  {
    // Tasks may read weights, all processes the same ones.
    const ParameterStore::ReadAlike alike(store_);
    task_.initialize(store_);
  }
  // Evaluates that checkpoint and records its step.
  const std::optional<LoadReport>& report = task_.init_report();
  if (!training_ && report && report->step) global_step_ = *report->step;
  if (training_) {
    take_init_state(report);
    Input& input = *training_->input;
    in_plugin(item_of(input), "start", parts_.train_input.path(), [&] { input.start(); });
  }
}

void DefaultTrainer::train(std::int64_t target) {
  const FlushDenormals flush;
  training();
  while (global_step_ < target && !exhausted_) {
    if (observer_.stop_requested()) return;
    exhausted_ = !train_one();
  }
}

bool DefaultTrainer::train_one() {
  Training& training = *training_;
  const std::optional<Batch> batch = [&] {
    const ProfileSpan span("wait for batch");
    return next_batch(*training.input, parts_.train_input);
  }();
  if (!batch) return false;
  const BatchSize own_size = size_of(*batch);
  const BatchSize size{.rows = count_of_all(own_size.rows),
                       .examples = count_of_all(own_size.examples)};
  DivergenceGuard& bad_steps = training.bad_steps;
  DivergenceGuard::Step step{.number = global_step_ + 1,
                             .loss = std::numeric_limits<double>::quiet_NaN(),
                             .learning_rate = training.learner->learning_rate(),
                             .batch_size = size.rows};
  const bool read_loss = device_.host_visible() || bad_steps.watches() ||
                         bad_steps.bounds_norms() || observer_.wants_loss();
  const std::vector<std::vector<Batch>> shards =
      training.shards->cut(task_, *batch, batch_of_, config_.gradient_accumulation);
  Learner::Step update =
      training.learner->begin({.parts = std::ssize(shards.front()),
                               .loss_bound = bad_steps.bound(step.number),
                               .gradient_norm_bound = bad_steps.norm_bound(step.number)});
  if (bad_steps.skips()) keep_before_step();
  Summaries summaries;
  if (wants_summaries(step.number)) summaries.want();
  training.in_doubt = true;
  device_.begin_step();
  in_step("training", step.number, [&] {
    const Tensor mean_loss = train_on(shards, update, summaries);
    if (read_loss) step.loss = mean_loss.item();
    step.gradient_norm = update.last_update().gradient_norm;
    const bool bad = read_loss && bad_steps.is_bad(step);
    if (!bad && !update.last_update().skipped) {
      training.loss.add(mean_loss, bad_steps.has_bound(step.number));
      if (step.gradient_norm >= 0) {
        Logs norm;
        norm.set("gradient_norm", step.gradient_norm);
        training.sums->add_update(norm);
      }
    }
    if (config_.summary_histograms) add_weight_histograms(store_, summaries);
  });
  device_.end_step();
  if (!update.last_update().skipped) {
    if (read_loss) bad_steps.check(step);
  } else if (bad_steps.skips()) {
    put_back();
    bad_steps.add_skipped(step);
    observer_.warn(bad_steps.skipped_text(step));
  } else {
    bad_steps.refuse(step);
  }
  training.in_doubt = false;
  ++global_step_;
  training.replicas->end_step(global_step_);
  if (summaries.wanted()) observer_.on_summaries("train", global_step_, summaries);
  if (token_count_ != nullptr) {
    observer_.on_train_tokens(count_of_all(token_count_->tokens(*batch)));
  }
  observer_.on_train_step(global_step_, step.loss, size.examples);
  return true;
}

bool DefaultTrainer::wants_summaries(std::int64_t step) const {
  const std::int64_t interval = config_.summary_interval;
  return interval > 0 && step % interval == 0 && observer_.wants_summaries();
}

// One update; the loss is the mean over the examples of all shards.
Tensor DefaultTrainer::train_on(const std::vector<std::vector<Batch>>& shards,
                                Learner::Step& update, Summaries& summaries) {
  training_->shards->begin_step();
  std::vector<WeightedScalar> losses;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const std::int64_t shard = mesh_shards_.first() + static_cast<std::int64_t>(i);
    losses.push_back(train_shard(shard, shards[i], update, summaries));
    training_->shards->end_shard();
  }
  return training_->shards->mean(losses);
}

// The mean over the examples of all parts. Summaries are of the first part of the first shard.
WeightedScalar DefaultTrainer::train_shard(std::int64_t shard, const std::vector<Batch>& parts,
                                           Learner::Step& update, Summaries& summaries) {
  Tensor loss;
  double weight = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const bool is_first = shard == 0 && i == 0;
    FpropContext context = step_context();
    context.train = true;
    const auto pass_key = [i](RngKey key) {
      return i > 0 ? key.fold(static_cast<std::uint64_t>(i)) : key;
    };
    // Noise on weights and gradients is that of the whole mesh.
    update.begin_part(pass_key(context.key));
    context.key = pass_key(shard_range().key_of(context.key, shard));
    if (is_first) context.summaries = std::move(summaries);
    StepState state{*model_, store_, &update, training_->sums->metrics(shard), context};
    const StepOutput output = in_task(task_, "train_step", [&] {
      StepOutput made = task_.train_step(parts[i], state);
      if (!made.loss.defined()) throw PluginError("its train_step returned no loss");
      return made;
    });
    if (is_first) summaries = std::move(context.summaries);
    training_->sums->add(shard, output.logs, update.last_update());
    if (parts.size() == 1) return {output.loss, output.weight};
    const NoGrad no_grad;
    const Tensor share = ops::mul(output.loss, static_cast<float>(output.weight));
    loss = i == 0 ? share : ops::add(loss, share);
    weight += output.weight;
  }
  const NoGrad no_grad;
  return {ops::mul(loss, static_cast<float>(weight > 0 ? 1 / weight : 0)), weight};
}

void DefaultTrainer::keep_before_step() {
  Training::Before& before = training_->before;
  assign(before.states, store_.states());
  before.sums = training_->sums->snapshot();
}

// The learner changed nothing. Changes of the layers and the task are undone, too.
void DefaultTrainer::put_back() {
  const Training::Before& before = training_->before;
  assign(store_.states(), before.states);
  training_->sums->put_back(before.sums);
}

// If losses are not read immediately, they are checked at the end of the loop: the bound applies to
// the largest loss, not to the mean. A run that may recover reads every loss.
void DefaultTrainer::check_unread_losses(double mean) {
  const Training& training = *training_;
  if (device_.host_visible() || training.bad_steps.watches()) return;
  training.bad_steps.check({.number = global_step_,
                            .loss = std::isfinite(mean) ? training.loss.largest() : mean,
                            .learning_rate = training.learner->learning_rate(),
                            .steps = training.loss.count()});
}

Logs DefaultTrainer::train_logs() {
  Training& training = this->training();
  Logs logs;
  if (training.loss.count() == 0) return logs;
  const double mean = training.loss.mean();
  check_unread_losses(mean);
  logs.set("training_loss", mean);
  if (!training.in_doubt) {  // else they would include the rejected step, unlike the loss
    ProcessGroup* const group = mesh_shards_.group();
    logs.merge(group == nullptr
                   ? training.sums->results()
                   : training.sums->merged(gather_states(group, training.sums->states())));
  }
  for (const auto& [name, rate] : training.learner->learning_rates()) {
    logs.set(name.empty() ? "learning_rate" : "learning_rate/" + name, rate);
  }
  logs.merge(training.bad_steps.logs());
  training.loss.reset();
  training.sums->reset();
  return logs;
}

Logs DefaultTrainer::evaluate(std::int64_t steps) {
  return run(evaluations().main(), steps);
}

Logs DefaultTrainer::evaluate_set(std::size_t set, std::int64_t steps) {
  return run(evaluations().set(set), steps);
}

Logs DefaultTrainer::run(Evaluation& evaluation, std::int64_t steps) {
  const FlushDenormals flush;
  std::optional<Learner::UseAverages> averages;
  if (training_) averages.emplace(*training_->learner);
  // An evaluation has no pipeline.
  std::optional<ParameterStore::Whole> whole;
  if (has_stages() || !evaluation.runs_alike()) whole.emplace(store_);
  FpropContext context = step_context();
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

// Of weights in parts copies on the host. All processes make this call.
NamedTensors DefaultTrainer::whole_tensors() {
  if (!store_.is_in_parts() || is_meta(device_)) return model_tensors();
  const ParameterStore::ReadAlike alike(store_);
  NamedTensors tensors;
  for (const auto& [path, value] : model_tensors()) {
    Tensor copy = Tensor::host(value.shape(), value.dtype());
    copy.assign_bytes(value.to_bytes());
    tensors.emplace_back(path, std::move(copy));
  }
  return tensors;
}

NamedTensors DefaultTrainer::export_tensors() {
  NamedTensors tensors = whole_tensors();
  if (!training_ || training_->learner->step() == 0) return tensors;
  const NamedTensors averages = training_->learner->averages();
  const std::map<std::string_view, Tensor> average_of(averages.begin(), averages.end());
  for (auto& [path, tensor] : tensors) {
    if (const auto found = average_of.find(path); found != average_of.end()) tensor = found->second;
  }
  return tensors;
}

}  // namespace trivet
