// SPDX-License-Identifier: Apache-2.0
// DefaultTrainer: the trainer "trivet/Trainer". One task, one model: every step takes a batch, runs
// Task::train_step on it, or on its parts in sequence, inside a device step, and updates the sums
// for the next line of metrics. Evaluations use averaged weights, if any.
//
// All random numbers are keyed by (seed, step), so the saved state contains no generator: weights,
// optimizer slots, averages, the step, the sums, the metrics' states and the position of the
// training input.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "step/shard_metrics.h"
#include "train/shards.h"
#include "trivet/extensions/token_count.h"
#include "trivet/tensor/mesh.h"
#include "trivet/trainer.h"

namespace trivet {

class Evaluation;
class Evaluations;

// The model and data to train: those of a task or of a stage.
struct TrainingParts {
  explicit TrainingParts(const TaskConfig& task)
      : model(task.model), train_input(task.train_input), eval_input(task.eval_input) {}

  ConfigOf<Model> model;
  ConfigOf<Input> train_input, eval_input;
};

class DefaultTrainer final : public Trainer {
 public:
  using Config = TrainerConfig;

  // Builds model, optimizer, training metrics and training input, then metrics and input of
  // evaluations, in this order and as requested by `context`: unreadable data is found before
  // training starts. `context` is consumed; objects that it refers to must outlive the trainer.
  DefaultTrainer(Config config, TrainerContext& context);
  // The same with other parts than those of the task. `evaluations`, if not null, are of the same
  // task, and are built again only if their eval_input differs.
  DefaultTrainer(Config config, TrainingParts parts, TrainerContext& context,
                 std::unique_ptr<Evaluations> evaluations);
  ~DefaultTrainer() override;

  std::int64_t global_step() const override { return global_step_; }
  void train(std::int64_t target) override;
  Logs train_logs() override;
  bool exhausted() const override { return exhausted_; }
  Logs evaluate(std::int64_t steps) override;
  Logs evaluate_set(std::size_t set, std::int64_t steps) override;
  bool trains_shards() const override { return true; }
  bool shares_updates() const override;
  bool shares_weights() const override;
  void initialize() override;
  void save(CheckpointWriter& writer) override;
  void restore(const CheckpointReader& reader) override;
  void recover(const CheckpointReader& reader) override;
  ParameterStore& parameters() override { return store_; }
  NamedTensors export_tensors() override;

  // Continues from a trainer of the same run and task with its saved step, sums and number of
  // trials. With `learner` also with weights, optimizer and averages, which must have the same
  // form; with `input` from the position in the training data.
  struct TakeOver {
    bool learner = false;
    bool input = false;
  };
  void take_over(const CheckpointReader& last, TakeOver what);

  // For the next trainer; this one evaluates no more. Null if it never did.
  std::unique_ptr<Evaluations> release_evaluations();

  // Only while training.
  Input& train_input();
  std::int64_t recovery_trials();
  void set_recovery_trials(std::int64_t trials);

 private:
  struct Training;

  ShardRange shard_range() const;
  Shards::BatchOf batch_of(const ConfigOf<Input>& input) const;
  std::int64_t count_of_all(std::int64_t own) const;
  void build_training();
  void build_learner(const TrainerContext& context);
  bool has_stages() const;
  // What the processes of the mesh have of the weights, where these are enough to be cut.
  enum class WeightsOf { one, replicas, parts };
  WeightsOf weights_of(const TrainerContext& context) const;
  void note_whole_weights();
  void note_weights_over_data();
  Evaluations& evaluations();
  Logs run(Evaluation& evaluation, std::int64_t steps);
  Training& training();
  bool train_one();
  Tensor train_on(const std::vector<std::vector<Batch>>& shards, Learner::Step& update,
                  Summaries& summaries);
  WeightedScalar train_shard(std::int64_t shard, const std::vector<Batch>& parts,
                             Learner::Step& update, Summaries& summaries);
  void check_unread_losses(double mean);
  bool wants_summaries(std::int64_t step) const;
  void keep_before_step();
  void put_back();
  void check_weights();
  void restore_all_but_input(const CheckpointReader& reader);
  void restore_learner(const CheckpointReader& reader);
  void restore_sums(const CheckpointReader& reader);
  void restore_averages(const CheckpointReader& reader);
  void take_init_state(const std::optional<LoadReport>& report);
  void restore_evaluations(const CheckpointReader& reader);
  FpropContext step_context() const;
  NamedTensors model_tensors() const;
  NamedTensors whole_tensors();
  bool save_parts(CheckpointWriter& writer);
  bool save_whole(CheckpointWriter& writer);

  const Config config_;
  const TrainingParts parts_;
  Task& task_;
  Device& device_;
  TrainerObserver& observer_;
  const RngKey key_;
  const Mesh mesh_;  // as the model's layers see it
  const MeshShards mesh_shards_;
  const Shards::BatchOf batch_of_;  // the training input's
  ParameterStore store_;
  std::unique_ptr<Model> model_;
  const TokenCount* token_count_;             // null if the task counts none
  std::unique_ptr<Training> training_;        // null if this run only evaluates
  std::unique_ptr<Evaluations> evaluations_;  // null if this run only trains
  // States in the checkpoint, of a run that only trains.
  std::optional<Value> next_evaluation_, next_set_evaluations_;
  std::int64_t global_step_ = 0;
  bool exhausted_ = false;
  bool shares_weights_ = false;
  bool averages_told_ = false;  // whether evaluations use the averages
};

}  // namespace trivet
