// SPDX-License-Identifier: Apache-2.0
// Trains several tasks together. After Model Garden's official/modeling/multitask. Here the type of
// the task, not of the trainer, selects the method, so that any trainer can train it.
//
//   [task]
//   type = "multitask/Interleaved"       # or multitask/Joint
//   model = { type = "vision/Mlp" }      # shared by tasks without their own model
//   sampler = { method = "proportional" }
//   [[task.tasks]]
//   name = "clothes"
//   weight = 2
//   task = { type = "vision/ImageClassification", train_input = { ... }, eval_input = { ... } }
//
// Interleaved: each step trains one task, which a sampler draws by weight. Its train_step is used.
// Variables that only other tasks use keep their values and slots; weight averages (trainer.ema)
// are updated for all variables, as in the original. Joint: each step has a batch of every task,
// and one update by the gradient of the sum of weight * loss. A task's train_step is not used, only
// its model and losses.
//
// Gradient accumulation cuts each task's batch in a step by the task's split_batch. In joint
// training the parts together equal the step of the whole batch, where each task's loss is the mean
// over its examples by "weight". Norms over a batch (BatchNorm) see the parts.
//
// Variables of a task's model are below the task's name, "clothes/hidden_0/w". Models of several
// tasks may share layers (`shared` of a layer's config). Logs are "clothes/accuracy" and so on,
// each task's losses "clothes/training_loss" (if the processor can read the device's memory) and
// "clothes/validation_loss". validation_loss is the sum of weight * loss, which joint training
// minimizes; interleaved training divides it by the sum of weights.
//
// An evaluation runs the tasks in turn, eval_steps batches each. trainer.validation_steps would
// count the batches of all tasks, so leave it at -1. The named sets of a task, its eval_inputs, are
// evaluations of their own by this task, with its program, interval and steps: the metrics of the
// set "test" are "clothes/test/accuracy" and so on. A task with sets and without eval_input is left
// out of the evaluation of all. task.init_checkpoint applies to all variables.
// The tasks cannot have their own, and their `initialize` is not called.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "inputs.h"
#include "models.h"
#include "task_sampler.h"
#include "trivet/extensions/expected_initial_loss.h"
#include "trivet/extensions/subtasks.h"
#include "trivet/task.h"

namespace trivet::multitask {

struct SubtaskConfig {
  std::string name;
  ConfigOf<Task> task;
  double weight = 1;
  std::int64_t eval_steps = -1;
};
TRIVET_CONFIG(SubtaskConfig, trivet::NoBase,
              (name, "Prefix of the task's logs and variables.", required),
              (task, "The problem, with its data and, if it is not shared, its model.", required),
              (weight, "Weight of the task: of its loss, or in the sampler.", more_than(0),
               adjustable),
              (eval_steps, "Batches per evaluation; -1: all.", at_least(-1), adjustable))

struct MultiTaskConfig : TaskConfig {
  std::vector<SubtaskConfig> tasks;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(MultiTaskConfig, trivet::TaskConfig, (tasks, "Tasks, trained together.", required))

class MultiTask : public Task, public ExpectedInitialLoss, public Subtasks {
 public:
  std::unique_ptr<Model> build_model(const ConfigOf<Model>& config, Scope& scope) override;
  Metrics build_metrics(Phase phase) override;
  void process_metrics(Metrics& metrics, const Batch& batch, const NestedMap& outputs) override;
  // The sum of weight * loss over the tasks in the batch. For a part of a joint batch: its share in
  // the sum, with a weight of 1.
  WeightedScalar build_losses(const Batch& batch, const NestedMap& outputs,
                              const FpropContext& context) override;
  // Cuts the batch of every task that it contains.
  std::vector<Batch> split_batch(const Batch& batch, std::int64_t parts) override;
  StepOutput validation_step(const Batch& batch, StepState& state) override;
  std::unique_ptr<AggregatedLogs> aggregate_logs(std::unique_ptr<AggregatedLogs> state,
                                                 const StepOutput& step) override;
  Logs reduce_aggregated_logs(AggregatedLogs& state, std::int64_t global_step) override;
  const void* extension(std::string_view id) const noexcept override;
  std::vector<Entry> subtasks(Model* model) const override;

 protected:
  struct Subtask {
    SubtaskConfig config;
    std::unique_ptr<Task> task;
  };
  MultiTask(const MultiTaskConfig& config, TaskContext& context);

  const std::vector<Subtask>& subtasks() const { return subtasks_; }
  std::vector<double> weights() const;
  std::vector<Source> sources(Phase phase) const;
  // The task that alone is in the batch.
  std::size_t task_of(const Batch& batch) const;
  // Runs one step of one task by its own `train_step` or `validation_step` and prefixes the results
  // with its name.
  using Step = StepOutput (Task::*)(const Batch&, StepState&);
  StepOutput step_of_one(Step step, const Batch& batch, StepState& state) const;
  // The divisor of the weighted sum of validation losses of tasks with this sum of weights.
  virtual double loss_divisor(double weights) const = 0;
  // The range of each task; empty if one task has none.
  std::vector<Range> expected_initial_losses() const;

  // Each task's loss in the last build_losses; undefined if the task was not in the batch.
  std::vector<Tensor> losses_;

 private:
  std::vector<Subtask> subtasks_;
};

struct InterleavedConfig : MultiTaskConfig {
  SamplerConfig sampler;
};
TRIVET_CONFIG(InterleavedConfig, MultiTaskConfig,
              (sampler, "Choice of the task for each step.", adjustable))

class Interleaved final : public MultiTask {
 public:
  using Config = InterleavedConfig;
  Interleaved(const Config& config, TaskContext& context);

  std::unique_ptr<Input> build_inputs(const ConfigOf<Input>& config,
                                      InputContext& context) override;
  StepOutput train_step(const Batch& batch, StepState& state) override;
  Range expected_initial_loss() const override;

 private:
  double loss_divisor(double weights) const override { return weights; }

  SamplerConfig sampler_;
};

struct JointConfig : MultiTaskConfig {};
TRIVET_CONFIG(JointConfig, MultiTaskConfig)

class Joint final : public MultiTask {
 public:
  using Config = JointConfig;
  Joint(const Config& config, TaskContext& context);

  std::unique_ptr<Input> build_inputs(const ConfigOf<Input>& config,
                                      InputContext& context) override;
  std::vector<Batch> split_batch(const Batch& batch, std::int64_t parts) override;
  StepOutput train_step(const Batch& batch, StepState& state) override;
  Range expected_initial_loss() const override;

 private:
  double loss_divisor(double) const override { return 1; }
};

}  // namespace trivet::multitask
