// SPDX-License-Identifier: Apache-2.0
// DefaultTrainer: the trainer behind "trivet/Trainer". One task, one model: every step takes a
// batch, runs Task::train_step on it, or on its parts one after the other, inside a step of the
// device, and keeps sums for the next line of metrics. Evaluations use averaged weights, if there
// are any.
//
// Everything random is keyed by (seed, step), so the saved state has no generator in it: weights,
// optimizer slots, averages, the step, the sums, the metrics' states and where the training input
// stands.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "train/running_means.h"
#include "trivet/trainer.h"

namespace trivet {

class Prefetch;

class DefaultTrainer final : public Trainer {
 public:
  using Config = TrainerConfig;

  // Builds model, optimizer, training metrics and training input, in this order. The evaluation
  // half is built by the first evaluation or after the first training step of this process,
  // whichever comes first: early enough that a missing file is found at once, late enough not to
  // delay that step. `context` is used up; what it refers to must outlive the trainer.
  DefaultTrainer(Config config, TrainerContext& context);
  ~DefaultTrainer() override;

  std::int64_t global_step() const override { return global_step_; }
  void train(std::int64_t target) override;
  Logs train_logs() override;
  bool exhausted() const override { return exhausted_; }
  Logs evaluate(std::int64_t steps) override;
  void initialize() override;
  void save(CheckpointWriter& writer) override;
  void restore(const CheckpointReader& reader) override;
  ParameterStore& parameters() override { return store_; }
  NamedTensors export_tensors() override;

 private:
  struct Training;
  struct Evaluation;

  void build_training();
  Evaluation& evaluation();
  std::unique_ptr<Input> build_input(const ConfigOf<Input>& config, bool training);
  Training& training();
  bool train_one();
  Tensor train_on(const std::vector<Batch>& parts, Summaries& summaries);
  bool wants_summaries(std::int64_t step) const;
  void restore_averages(const CheckpointReader& reader);
  double loss_bound() const;  // of the step that comes
  void leave_out_step(double loss, double learning_rate, std::int64_t batch_size);
  RunError bad_step(double loss, double learning_rate, std::int64_t batch_size,
                    const std::string& when) const;
  void check_loss(double loss, double learning_rate, std::int64_t batch_size) const;
  FpropContext step_context(bool train) const;
  NamedTensors model_tensors() const;

  const Config config_;
  Task& task_;
  Device& device_;
  TrainerObserver& observer_;
  const Key key_;
  const bool evaluates_;
  ParameterStore store_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<Training> training_;      // null when this run only evaluates
  std::unique_ptr<Evaluation> evaluation_;  // null until needed
  std::int64_t global_step_ = 0;
  bool exhausted_ = false;
};

}  // namespace trivet
