// SPDX-License-Identifier: Apache-2.0
// Task: the default life of a task.
#include "trivet/task.h"

#include <algorithm>
#include <filesystem>
#include <string>

#include "trivet/error.h"
#include "trivet/ops.h"
#include "trivet/os/file.h"
#include "trivet/plugin/plugin_call.h"
#include "trivet/plugin/registry.h"
#include "trivet/tensor/profile.h"
#include "trivet/train/init_checkpoint.h"

namespace trivet {

namespace {

NestedMap outputs_of(Model& model, const Batch& batch, FpropContext& context) {
  return in_plugin(item_of(model), "fprop", "task.model", [&] {
    NestedMap outputs = model.fprop(batch, context);
    for (const auto& [path, tensor] : outputs) {
      if (!tensor.defined()) throw PluginError("its fprop returned no tensor for '" + path + "'");
    }
    return outputs;
  });
}

}  // namespace

AggregatedLogs::~AggregatedLogs() = default;

Value AggregatedLogs::save_state() const {
  throw Error("the state of the task's aggregated logs cannot be merged: it has no save_state");
}

void AggregatedLogs::merge(const Value&) {
  throw Error("the state of the task's aggregated logs cannot be merged: it has no merge");
}

Tensor add_aux_losses(Tensor loss, const FpropContext& context) {
  for (const auto& [name, auxiliary] : context.aux_losses) loss = ops::add(loss, auxiliary);
  return loss;
}

Task::Task(TaskConfig config, TaskContext& context)
    : config_(std::move(config)),
      device_(context.device),
      logging_dir_(context.logging_dir),
      followed_dir_(context.followed_dir) {}

Task::~Task() = default;

void Task::initialize(ParameterStore& store) {
  const InitLoadConfig& load = config_.init_load;
  if (config_.init_checkpoint.empty()) {
    if (load.sources.empty() && !load.step && !load.load_step && !load.load_slots) return;
    throw ConfigError(Diagnostic{.path = "task.init_load",
                                 .what = "has no effect without task.init_checkpoint",
                                 .hint = "set task.init_checkpoint, the first source"});
  }
  set_init_report(load_weights(store, config_.init_checkpoint.text, config_.init_load));
}

std::unique_ptr<Optimizer> Task::create_optimizer(const ConfigOf<Optimizer>& config) {
  if (!config.has_value()) {
    throw ConfigError(Diagnostic{.path = "trainer.optimizer",
                                 .what = "no optimizer is configured, and training needs one",
                                 .hint = "for example optimizer = \"optim/Adam\""});
  }
  return make(config);
}

std::unique_ptr<Model> Task::build_model(const ConfigOf<Model>& config, Scope& scope) {
  if (!config.has_value()) {
    throw ConfigError(Diagnostic{.path = "task.model",
                                 .what = "no model is configured",
                                 .hint = "set [task.model] with a type"});
  }
  return make(config, scope);
}

std::unique_ptr<Input> Task::build_inputs(const ConfigOf<Input>& config, InputContext& context) {
  if (!config.has_value()) {
    throw ConfigError(Diagnostic{.path = context.name,
                                 .what = "no input is configured",
                                 .hint = "set [" + context.name + "] with a type"});
  }
  return make(config, context);
}

Metrics Task::build_metrics(Phase) {
  return {};
}

Metrics all_metrics(Task& task, Phase phase) {
  Metrics metrics = in_plugin(item_of(task), "build_metrics", "task", [&] {
    Metrics made = task.build_metrics(phase);
    for (const auto& metric : made) {
      if (!metric) throw PluginError("its build_metrics returned nothing instead of a metric");
    }
    return made;
  });
  for (const ConfigOf<Metric>& config : task.config().metrics) {
    const Value* in_training = config.fields().find("in_training");
    const bool reports =
        phase == Phase::evaluation || (in_training != nullptr && in_training->as_boolean());
    if (reports) metrics.push_back(make(config));
  }
  return metrics;
}

void Task::set_eval_set(const std::string& name) {
  eval_set_ = name;
  eval_dir_.clear();
  if (name.empty() || logging_dir_.empty()) return;
  make_directories(eval_set_dir(name));
  eval_dir_ = eval_set_dir(name);
}

std::string Task::eval_set_dir(const std::string& name) const {
  return (std::filesystem::path(logging_dir_) / "eval_inputs" / name).string();
}

void Task::process_metrics(Metrics& metrics, const Batch& batch, const NestedMap& outputs) {
  NoGrad no_grad;
  for (const auto& metric : metrics) {
    in_plugin(item_of(*metric), "update_state", "task",
              [&] { metric->update_state(batch, outputs); });
  }
}

std::vector<Batch> Task::split_batch(const Batch& batch, std::int64_t parts) {
  const bool has_rows = !batch.empty() && batch.begin()->second.rank() > 0;
  const std::int64_t rows = has_rows ? batch.begin()->second.dim(0) : 1;
  parts = std::min(parts, rows);
  if (parts <= 1) return {batch};
  const NoGrad no_grad;
  std::vector<Batch> out;
  for (std::int64_t i = 0; i < parts; ++i) {
    const std::int64_t begin = i * rows / parts, end = (i + 1) * rows / parts;
    Batch part;
    for (const auto& [path, tensor] : batch) {
      const bool cut = tensor.rank() > 0 && tensor.dim(0) == rows;
      part.set(path, cut ? ops::slice(tensor, 0, begin, end) : tensor);
    }
    out.push_back(std::move(part));
  }
  return out;
}

StepOutput Task::train_step(const Batch& batch, StepState& state) {
  if (state.step == nullptr) throw Error("a training step needs a step of a learner");
  StepOutput out;
  out.batch = batch.to(device_);
  state.context.train = true;
  tape_.clear();  // what a step that failed has left
  {
    const ProfileSpan span("forward");
    Tape::Recording recording(tape_);
    out.outputs = outputs_of(state.model, out.batch, state.context);
    in_plugin(item_of(*this), "build_losses", "task", [&] {
      WeightedScalar loss = build_losses(out.batch, out.outputs, state.context);
      if (!loss.value.defined()) throw PluginError("its build_losses returned no loss");
      out.loss = std::move(loss.value);
      out.weight = loss.weight;
    });
  }
  {
    const ProfileSpan span("backward");
    state.store.begin_gradients();
    state.step->begin_gradients(out.weight, tape_);
    tape_.backward(out.loss);
    state.store.end_gradients();
  }
  {
    const ProfileSpan span("metrics");
    in_plugin(item_of(*this), "process_metrics", "task",
              [&] { process_metrics(state.metrics, out.batch, out.outputs); });
  }
  const ProfileSpan span("update");
  const Learner::Update update = state.step->apply_gradients(out.weight, out.loss);
  if (update.gradient_norm >= 0) out.logs.set("gradient_norm", update.gradient_norm);
  return out;
}

StepOutput Task::validation_step(const Batch& batch, StepState& state) {
  NoGrad no_grad;
  StepOutput out;
  out.batch = batch.to(device_);
  out.outputs = inference_step(out.batch, state.model, state.context);
  WeightedScalar loss = build_losses(out.batch, out.outputs, state.context);
  out.loss = std::move(loss.value);
  out.weight = loss.weight;
  process_metrics(state.metrics, out.batch, out.outputs);
  return out;
}

NestedMap Task::inference_step(const Batch& batch, Model& model, FpropContext& context) {
  NoGrad no_grad;
  context.train = false;
  return outputs_of(model, batch.to(device_), context);
}

std::unique_ptr<AggregatedLogs> Task::aggregate_logs(std::unique_ptr<AggregatedLogs> state,
                                                     const StepOutput&) {
  return state;
}

Logs Task::reduce_aggregated_logs(AggregatedLogs&, std::int64_t) {
  return {};
}

}  // namespace trivet
