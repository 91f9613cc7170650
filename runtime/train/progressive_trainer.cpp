// SPDX-License-Identifier: Apache-2.0
#include "train/progressive_trainer.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/core.h>

#include "checkpoint/checkpoint_snapshot.h"
#include "checkpoint/state_value.h"
#include "evaluation/evaluations.h"
#include "train/learner_setup.h"
#include "trivet/error.h"
#include "trivet/tape.h"
#include "trivet/train/init_checkpoint.h"

namespace trivet {

void StageTransferConfig::validate(Diagnostics& diagnostics) const {
  check_patterns(diagnostics, "ignore", ignore);
  for (const LoadRule& rule : rules) check_patterns(diagnostics, "rules", {rule.pattern});
}

void StageConfig::validate(Diagnostics& diagnostics) const {
  check_patterns(diagnostics, "frozen", frozen.value_or(std::vector<std::string>()));
  check_patterns(diagnostics, "trainable", trainable.value_or(std::vector<std::string>()));
  if (frozen && trainable) {
    diagnostics.add("trainable", "is set, and frozen, too", "set only one of trainable and frozen");
  }
}

void ProgressiveConfig::validate(Diagnostics& diagnostics) const {
  if (stages.empty()) {
    diagnostics.add("stages", "has no stage", "use trivet/Trainer without stages");
  }
  for (std::size_t i = 0; i + 1 < stages.size(); ++i) {
    if (stages[i].steps > 0) continue;
    diagnostics.add(fmt::format("stages[{}].steps", i),
                    "is 0: a stage that another one follows must end", "set it to at least 1");
  }
}

ProgressiveTrainer::ProgressiveTrainer(Config config, TrainerContext& context)
    : config_(std::move(config)), context_(context) {
  for (std::size_t i = 0; context.train && i < config_.stages.size(); ++i) {
    check_learner(trainer_config(i), parts(i).train_input);
  }
  make_trainer(0);
}

ProgressiveTrainer::~ProgressiveTrainer() = default;

TrainerConfig ProgressiveTrainer::trainer_config(std::size_t stage) const {
  const StageConfig& own = config_.stages[stage];
  TrainerConfig config = config_;
  if (own.optimizer.has_value()) config.optimizer = own.optimizer;
  if (own.learning_rate.has_value()) config.learning_rate = own.learning_rate;
  // If a stage sets one of the two, it replaces both.
  if (own.frozen || own.trainable) {
    config.frozen = own.frozen.value_or(std::vector<std::string>());
    config.trainable = own.trainable.value_or(std::vector<std::string>());
  }
  return config;
}

TrainingParts ProgressiveTrainer::parts(std::size_t stage) const {
  const StageConfig& own = config_.stages[stage];
  TrainingParts parts(context_.task.config());
  if (own.model.has_value()) parts.model = own.model;
  if (own.train_input.has_value()) parts.train_input = own.train_input;
  if (own.eval_input.has_value()) parts.eval_input = own.eval_input;
  return parts;
}

bool ProgressiveTrainer::same_learner(std::size_t stage, std::size_t other) const {
  const TrainerConfig a = trainer_config(stage), b = trainer_config(other);
  return parts(stage).model == parts(other).model && a.optimizer == b.optimizer &&
         a.learning_rate == b.learning_rate && a.frozen == b.frozen && a.trainable == b.trainable;
}

// The last step of a stage.
std::int64_t ProgressiveTrainer::end_of(std::size_t stage) const {
  if (stage + 1 == config_.stages.size()) return std::numeric_limits<std::int64_t>::max();
  std::int64_t end = 0;
  for (std::size_t i = 0; i <= stage; ++i) end += config_.stages[i].steps;
  return end;
}

std::string ProgressiveTrainer::title(std::size_t stage) const {
  const std::string& name = config_.stages[stage].name;
  return fmt::format("stage {} of {}{}", stage + 1, config_.stages.size(),
                     name.empty() ? "" : " (" + name + ")");
}

std::int64_t ProgressiveTrainer::global_step() const {
  return trainer_ ? trainer_->global_step() : last_step_;
}

// Evaluation data that both stages share stays open; task.eval_inputs are those of all stages.
void ProgressiveTrainer::make_trainer(std::size_t stage) {
  last_step_ = global_step();
  std::unique_ptr<Evaluations> evaluations;
  if (trainer_) evaluations = trainer_->release_evaluations();
  trainer_.reset();  // frees its memory before the next one is built
  trainer_ = std::make_unique<DefaultTrainer>(trainer_config(stage), parts(stage), context_,
                                              std::move(evaluations));
  stage_ = stage;
}

void ProgressiveTrainer::enter(std::size_t stage) {
  if (stage == stage_) return;
  make_trainer(stage);
  context_.observer.note(title(stage));
}

void ProgressiveTrainer::train(std::int64_t target) {
  while (global_step() < target) {
    if (global_step() >= end_of(stage_)) advance();
    const std::int64_t until = std::min(target, end_of(stage_));
    trainer_->train(until);
    if (global_step() < until) return;  // the end of the data, or a stop
  }
}

std::vector<TrainingStage> ProgressiveTrainer::stages() const {
  std::vector<TrainingStage> stages;
  for (std::size_t i = 0; i < config_.stages.size(); ++i) {
    stages.push_back({.name = config_.stages[i].name,
                      .path = fmt::format("trainer.stages[{}]", i),
                      .model = std::string(parts(i).model.key())});
  }
  return stages;
}

void ProgressiveTrainer::next_stage() {
  if (stage_ + 1 == config_.stages.size()) throw Error("the last stage has no next one");
  if (context_.train) return advance();
  enter(stage_ + 1);
}

void ProgressiveTrainer::advance() {
  const std::size_t before = stage_, next = stage_ + 1;
  CheckpointSnapshot last;
  trainer_->save(last);
  make_trainer(next);
  const bool goes_on = same_learner(before, next);
  std::string from = "continues with all weights and the optimizer";
  if (!goes_on) {
    const NoGrad no_grad;
    const StageTransferConfig& transfer = config_.stages[next].transfer;
    const std::string path = fmt::format("trainer.stages[{}].transfer", next);
    const LoadReport report = load_weights(
        trainer_->parameters(),
        {.entries = last.entries("model"),
         .name = title(before),
         .rules_path = path,
         .source_path = path},
        {.rules = transfer.rules, .ignore = transfer.ignore, .partial = transfer.partial});
    from = report.summary();
  }
  const bool same_data = parts(before).train_input == parts(next).train_input;
  trainer_->take_over(last, {.learner = goes_on, .input = same_data});
  if (const auto ahead = data_ahead_.extract(next)) {
    trainer_->train_input().restore_state(ahead.mapped());
  }
  context_.observer.note(fmt::format("{}: {}", title(next), from));
}

void ProgressiveTrainer::save(CheckpointWriter& writer) {
  trainer_->save(writer);
  writer.state("progressive", Value::table({{"stage", static_cast<std::int64_t>(stage_)}}));
}

std::size_t ProgressiveTrainer::saved_stage(const CheckpointReader& reader) const {
  if (!reader.has_state("progressive")) {
    throw RunError(
        reader.description() + " was not written by trivet/Progressive",
        {.path = "trainer.type", .hint = "task.init_checkpoint starts a new run from its weights"});
  }
  const std::int64_t stage = member(reader.state("progressive"), "stage").as_integer();
  if (stage < 0 || std::cmp_greater_equal(stage, config_.stages.size())) {
    throw RunError(fmt::format("{} was saved in stage {}, but the config has {} stages",
                               reader.description(), stage + 1, config_.stages.size()),
                   {.path = "trainer.stages"});
  }
  return static_cast<std::size_t>(stage);
}

void ProgressiveTrainer::restore(const CheckpointReader& reader) {
  enter(saved_stage(reader));
  trainer_->restore(reader);
}

void ProgressiveTrainer::recover(const CheckpointReader& reader) {
  const std::size_t stage = saved_stage(reader);
  if (stage == stage_) return trainer_->recover(reader);
  const std::int64_t trials = trainer_->recovery_trials();
  data_ahead_[stage_] = trainer_->train_input().save_state();
  enter(stage);
  trainer_->restore(reader);
  trainer_->set_recovery_trials(trials + 1);
}

}  // namespace trivet
