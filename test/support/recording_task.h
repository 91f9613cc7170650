// SPDX-License-Identifier: Apache-2.0
// A task that reports every call and otherwise behaves like its base. The loss is the mean square
// of the model's output "y".
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "trivet/ops.h"
#include "trivet/task.h"

namespace trivet::test {

class RecordingTask : public Task {
 public:
  // `note` receives every call, on the calling thread.
  RecordingTask(TaskConfig config, TaskContext& context,
                std::function<void(const std::string&)> note)
      : Task(std::move(config), context), note_(std::move(note)) {}

  std::unique_ptr<Optimizer> create_optimizer(const ConfigOf<Optimizer>& config) override {
    note("create_optimizer");
    return Task::create_optimizer(config);
  }
  void initialize(ParameterStore& store) override {
    note("initialize");
    Task::initialize(store);
  }
  std::unique_ptr<Model> build_model(const ConfigOf<Model>& config, Scope& scope) override {
    note("build_model");
    return Task::build_model(config, scope);
  }
  std::unique_ptr<Input> build_inputs(const ConfigOf<Input>& config,
                                      InputContext& context) override {
    note(context.phase == Phase::training ? "build_inputs(train)" : "build_inputs(eval)");
    return Task::build_inputs(config, context);
  }
  WeightedScalar build_losses(const Batch&, const NestedMap& outputs,
                              const FpropContext&) override {
    note("build_losses");
    return {ops::mean(ops::square(outputs.at("y"))), 4};
  }
  Metrics build_metrics(Phase phase) override {
    note(phase == Phase::training ? "build_metrics(train)" : "build_metrics(eval)");
    return {};
  }
  void process_metrics(Metrics& metrics, const Batch& batch, const NestedMap& outputs) override {
    note("process_metrics");
    Task::process_metrics(metrics, batch, outputs);
  }
  StepOutput train_step(const Batch& batch, StepState& state) override {
    note("train_step");
    return Task::train_step(batch, state);
  }
  StepOutput validation_step(const Batch& batch, StepState& state) override {
    note("validation_step");
    return Task::validation_step(batch, state);
  }
  NestedMap inference_step(const Batch& batch, Model& model, FpropContext& context) override {
    note("inference_step");
    return Task::inference_step(batch, model, context);
  }
  std::unique_ptr<AggregatedLogs> aggregate_logs(std::unique_ptr<AggregatedLogs> state,
                                                 const StepOutput&) override {
    note(state ? "aggregate_logs(state)" : "aggregate_logs(null)");
    return std::make_unique<Nothing>();
  }
  Logs reduce_aggregated_logs(AggregatedLogs&, std::int64_t step) override {
    note("reduce_aggregated_logs(" + std::to_string(step) + ")");
    return {};
  }

 private:
  struct Nothing final : AggregatedLogs {};
  void note(const std::string& call) { note_(call); }

  std::function<void(const std::string&)> note_;
};

}  // namespace trivet::test
