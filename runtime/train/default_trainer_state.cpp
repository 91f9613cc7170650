// SPDX-License-Identifier: Apache-2.0
// The part of DefaultTrainer that saves and restores.
#include <optional>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "checkpoint/state_value.h"
#include "evaluation/evaluations.h"
#include "step/gather_states.h"
#include "step/step_parts.h"
#include "train/default_trainer.h"
#include "train/default_trainer_training.h"
#include "trivet/error.h"
#include "trivet/tensor/tensor_part.h"
#include "trivet/train/init_slots.h"
#include "trivet/train/optim_update.h"

namespace trivet {
namespace {

// The first update starts an average, so without updates there is none.
bool has_averages(const Value& state) {
  return member(state, "ema").as_boolean() && member(state, "updates").as_integer() > 0;
}

}  // namespace

// Non-finite weights must not be saved: the last good checkpoint must stay the newest.
void DefaultTrainer::check_weights() {
  training().bad_steps.check_weights(
      training().learner->square_of_weights(),
      {.number = global_step_, .learning_rate = training().learner->learning_rate()});
}

// Both return whether there are averages.
bool DefaultTrainer::save_parts(CheckpointWriter& writer) {
  const Learner& learner = *training().learner;
  writer.write_parts("model", store_.value_parts());
  writer.write_parts("optimizer", learner.slot_parts());
  const std::vector<TensorPart> averages = learner.average_parts();
  if (!averages.empty()) writer.write_parts("ema", averages);
  return !averages.empty();
}

bool DefaultTrainer::save_whole(CheckpointWriter& writer) {
  const Learner& learner = *training().learner;
  writer.write_tensors("model", whole_tensors());
  writer.write_tensors("optimizer", learner.slots());
  const NamedTensors averages = learner.averages();
  if (!averages.empty()) writer.write_tensors("ema", averages);
  return !averages.empty();
}

void DefaultTrainer::save(CheckpointWriter& writer) {
  Training& training = this->training();
  check_weights();
  training.replicas->before_save(global_step_);
  const bool has_averages = writer.takes_parts() ? save_parts(writer) : save_whole(writer);
  Value state = Value::table({{"global_step", global_step_},
                              {"updates", training.learner->step()},
                              {"ema", has_averages},
                              {"ema_states", !config_.ema.trainable_weights_only},
                              {"recovery_trials", training.bad_steps.trials()},
                              {"loss", training.loss.save_state()}});
  training.sums->save(state, gather_states(mesh_shards_.group(), training.sums->states()));
  writer.state("trainer", state);
  writer.state("train_input", training.input->save_state());
  if (config_.validation_data == ValidationData::restart) return;
  if (evaluations_ && evaluations_->has_main()) next_evaluation_ = evaluations_->save_main();
  if (evaluations_ && evaluations_->has_sets()) next_set_evaluations_ = evaluations_->save_sets();
  if (next_evaluation_) writer.state("eval_input", *next_evaluation_);
  if (next_set_evaluations_) writer.state("eval_inputs", *next_set_evaluations_);
}

// Without training, the averages are used as weights, as in evaluations during training.
void DefaultTrainer::restore_averages(const CheckpointReader& reader) {
  const std::optional<bool>& wanted = task_.config().init_load.averages;
  const Value& state = reader.state("trainer");
  if (!has_averages(state)) {
    if (!wanted.value_or(false)) return;
    throw RunError(reader.description() + " has no moving averages",
                   {.path = "task.init_load.averages",
                    .hint = "remove it to evaluate the weights of checkpoints without averages"});
  }
  const bool takes = wanted.value_or(true);
  if (!std::exchange(averages_told_, true)) {
    observer_.note(takes ? "evaluating the moving averages of the weights"
                         : "evaluating the weights, not their moving averages "
                           "(task.init_load.averages = false)");
  }
  if (!takes) return;
  const bool states = member(state, "ema_states").as_boolean();
  NamedTensors weights;
  for (const auto& parameter : store_.parameters()) {
    if (parameter->trainable() || states) {
      weights.emplace_back(parameter->path(), parameter->value());
    }
  }
  reader.read_tensors("ema", weights, OtherTensors::ignored);
}

// What init_load asks for beside the weights.
void DefaultTrainer::take_init_state(const std::optional<LoadReport>& report) {
  const InitLoadConfig& load = task_.config().init_load;
  if (!load.load_step && !load.load_slots) return;
  if (!report) {
    throw RunError("the task loads no weights by task.init_load, so it has no step or slots",
                   {.path = "task.init_load"});
  }
  if (load.load_step && !report->step) {
    throw RunError("'" + report->file + "' does not say its step",
                   {.path = "task.init_load.load_step",
                    .hint = "init_checkpoint must be a checkpoint of a run"});
  }
  if (load.load_step) global_step_ = *report->step;
  if (!load.load_slots) return;
  const std::size_t slots = load_slots(*training_->learner, *report, load);
  observer_.note(fmt::format("{} optimizer slots from {}, after {} updates", slots, report->file,
                             training_->learner->step()));
}

void DefaultTrainer::restore(const CheckpointReader& reader) {
  restore_all_but_input(reader);
  if (config_.validation_data == ValidationData::continue_) restore_evaluations(reader);
  if (training_) training_->input->restore_state(reader.state("train_input"));
}

void DefaultTrainer::restore_evaluations(const CheckpointReader& reader) {
  if (reader.has_state("eval_input")) {
    next_evaluation_ = reader.state("eval_input");
    if (evaluations_ && evaluations_->has_main()) evaluations_->restore_main(*next_evaluation_);
  }
  if (reader.has_state("eval_inputs")) {
    next_set_evaluations_ = reader.state("eval_inputs");
    if (evaluations_) evaluations_->restore_sets(*next_set_evaluations_);
  }
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
  reader.read_tensors("model", model);
  const Value& state = reader.state("trainer");
  global_step_ = member(state, "global_step").as_integer();
  exhausted_ = false;
  if (training_) {
    restore_learner(reader);
    restore_sums(reader);
  } else {
    restore_averages(reader);
  }
}

void DefaultTrainer::restore_learner(const CheckpointReader& reader) {
  const Value& state = reader.state("trainer");
  Learner& learner = *training_->learner;
  reader.read_parts("optimizer", learner.slot_parts());
  learner.set_step(member(state, "updates").as_integer());
  learner.restart_average();  // for variables without an average in the checkpoint
  if (!has_averages(state)) return;
  std::vector<TensorPart> averages = learner.average_parts();
  if (!member(state, "ema_states").as_boolean()) {
    std::erase_if(averages, [&](const TensorPart& average) {
      return !store_.find(average.name)->trainable();
    });
  }
  if (!averages.empty()) reader.read_parts("ema", averages, OtherTensors::ignored);
}

void DefaultTrainer::restore_sums(const CheckpointReader& reader) {
  const Value& state = reader.state("trainer");
  set_recovery_trials(member(state, "recovery_trials").as_integer());
  training_->loss.restore_state(member(state, "loss"));
  // States of other metrics, from a changed config, cannot be used.
  if (!training_->sums->restore(state)) {
    observer_.warn(
        "the task's metrics changed: the next line of training covers only the steps from here "
        "on");
  }
  training_->in_doubt = false;
}

}  // namespace trivet
