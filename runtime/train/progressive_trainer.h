// SPDX-License-Identifier: Apache-2.0
// ProgressiveTrainer: the trainer "trivet/Progressive". Trains in stages, each with its own model,
// data and optimizer; unset ones are those of the task and the trainer.
//
//   [trainer]
//   type = "trivet/Progressive"
//   train_steps = 300
//   [[trainer.stages]]
//   name = "narrow"
//   steps = 100
//   model = { type = "vision/Mlp", hidden_dims = [16] }
//   [[trainer.stages]]            # the last one: until train_steps
//   name = "deep"
//   model = { type = "vision/Mlp", hidden_dims = [16, 16] }
//   transfer = { rules = [{ pattern = "output/(.*)", name = "output/$1" }] }
//
// A stage starts with the weights of the previous stage for the same paths; `transfer` has rules
// for other names. If model, optimizer, schedule and frozen variables are equal to those of the
// previous stage, it continues with the optimizer, its slots and its count of updates; else these
// are initialized, and schedules count from 0. If both stages have the same data, reading
// continues, else it starts at the beginning.
//
// A step belongs to the stage that trained it: an evaluation or checkpoint at the end of a stage is
// that of the stage. A restored run is in the stage of its checkpoint. Based on Model Garden's
// official/modeling/fast_training/progressive. All checkpoints are normal ones, so nothing needs to
// be exported.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "train/default_trainer.h"

namespace trivet {

struct StageTransferConfig {
  std::vector<LoadRule> rules;
  std::vector<std::string> ignore;
  bool partial = true;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(StageTransferConfig, trivet::NoBase,
              (rules, "Names in the previous stage; the first matching rule counts."),
              (ignore, "Patterns of variables to initialize."),
              (partial,
               "Initializes variables that the previous stage lacks or has in another shape. If "
               "false, such a variable is an error."))

struct StageConfig {
  std::string name;
  std::int64_t steps = 0;
  ConfigOf<Model> model;
  ConfigOf<Input> train_input;
  ConfigOf<Input> eval_input;
  ConfigOf<Optimizer> optimizer;
  ConfigOf<Schedule> learning_rate;
  std::optional<std::vector<std::string>> frozen;
  std::optional<std::vector<std::string>> trainable;
  StageTransferConfig transfer;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(
    StageConfig, trivet::NoBase, (name, "Name in messages. Empty: the number of the stage."),
    (steps, "Steps of the stage; the last one continues until train_steps.", at_least(0)),
    (model, "Model to train; not set: the task's."),
    (train_input, "Where training batches come from; not set: the task's."),
    (eval_input, "Where evaluation batches come from; not set: the task's."),
    (optimizer, "How gradients change weights; not set: the trainer's."),
    (learning_rate, "A schedule or a number; not set: the trainer's."),
    (frozen,
     "Patterns of variables that are not trained; where neither this nor trainable is set, "
     "the trainer's are."),
    (trainable, "Patterns of the variables to train; all others are frozen."),
    (transfer, "Weights of the previous stage from which this stage starts."))

struct ProgressiveConfig : TrainerConfig {
  std::vector<StageConfig> stages;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(ProgressiveConfig, TrainerConfig,
              (stages, "Stages, trained in turn.", required, adjustable))

class ProgressiveTrainer final : public Trainer {
 public:
  using Config = ProgressiveConfig;

  // Starts in the first stage. `context` is copied; objects that it refers to must outlive the
  // trainer.
  ProgressiveTrainer(Config config, TrainerContext& context);
  ~ProgressiveTrainer() override;

  std::int64_t global_step() const override;
  void train(std::int64_t target) override;
  Logs train_logs() override { return trainer_->train_logs(); }
  bool exhausted() const override { return trainer_->exhausted(); }
  Logs evaluate(std::int64_t steps) override { return trainer_->evaluate(steps); }
  void initialize() override { trainer_->initialize(); }
  void save(CheckpointWriter& writer) override;
  void restore(const CheckpointReader& reader) override;
  void recover(const CheckpointReader& reader) override;
  // Parts of the current stage: the references are invalid after it.
  ParameterStore& parameters() override { return trainer_->parameters(); }
  NamedTensors export_tensors() override { return trainer_->export_tensors(); }

  bool trains_shards() const override { return true; }
  bool shares_updates() const override { return trainer_->shares_updates(); }
  bool shares_weights() const override { return trainer_->shares_weights(); }
  std::vector<TrainingStage> stages() const override;
  std::size_t stage() const override { return stage_; }
  void next_stage() override;

 private:
  TrainerConfig trainer_config(std::size_t stage) const;
  TrainingParts parts(std::size_t stage) const;
  bool same_learner(std::size_t stage, std::size_t other) const;
  std::int64_t end_of(std::size_t stage) const;
  std::string title(std::size_t stage) const;
  std::size_t saved_stage(const CheckpointReader& reader) const;
  void make_trainer(std::size_t stage);
  void enter(std::size_t stage);
  void advance();

  const Config config_;
  TrainerContext context_;
  std::size_t stage_ = 0;
  std::unique_ptr<DefaultTrainer> trainer_;  // of the stage; null if it could not be built
  std::int64_t last_step_ = 0;               // of the trainer of the stage before
  // The data positions of later stages when a bad step took the run back to an earlier stage.
  std::map<std::size_t, Value> data_ahead_;
};

}  // namespace trivet
