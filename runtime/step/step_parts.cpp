// SPDX-License-Identifier: Apache-2.0
#include "step/step_parts.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "step/config_faults.h"
#include "step/prefetch_input.h"
#include "trivet/backend/mesh_layout.h"
#include "trivet/error.h"
#include "trivet/tensor/mesh.h"

namespace trivet {

namespace {

// The object that a method of the task returns. Null would be called later.
template <class Body>
auto build_with(const Task& task, const char* method, Body&& body) {
  return in_task(task, method, [&] {
    auto made = body();
    if (!made) throw PluginError(fmt::format("its {} returned nothing", method));
    return made;
  });
}

// Calls a method of each metric.
template <class Body>
void for_each(const Metrics& metrics, const char* method, Body&& body) {
  for (const auto& metric : metrics) {
    in_plugin(item_of(*metric), method, "task", [&] { body(*metric); });
  }
}

void check_stages(const Scope& scope) {
  const MeshAxis& stages = scope.mesh().axis(MeshLayout::kStageAxis);
  const auto is_of_stage = [](const auto& parameter) {
    return parameter->stage() != Parameter::kEveryStage;
  };
  if (!stages.is_split() || std::ranges::any_of(scope.store().parameters(), is_of_stage)) return;
  throw ConfigError(
      Diagnostic{.path = "mesh",
                 .what = fmt::format("has {} devices along stage, and no layer of this model is "
                                     "in a stage",
                                     stages.extent()),
                 .hint = "nn/StackedTransformer has its blocks in stages; for other models use "
                         "the axes replica and data"});
}

void check_sequences(const Scope& scope) {
  const MeshAxis& devices = scope.mesh().axis(MeshLayout::kSequenceAxis);
  if (!devices.is_split() || scope.store().has_sequence_blocks()) return;
  throw ConfigError(
      Diagnostic{.path = "mesh",
                 .what = fmt::format("has {} devices along seq, and no layer of this model "
                                     "computes a part of the positions",
                                     devices.extent()),
                 .hint = "nn/StackedTransformer does; for other models use the axes replica and "
                         "data"});
}

}  // namespace

std::unique_ptr<Model> build_model(Task& task, const ConfigOf<Model>& config, Scope& scope) {
  auto model = build_with(task, "build_model", [&] { return task.build_model(config, scope); });
  check_stages(scope);
  check_sequences(scope);
  return model;
}

std::unique_ptr<Optimizer> create_optimizer(Task& task, const ConfigOf<Optimizer>& config) {
  return build_with(task, "create_optimizer", [&] { return task.create_optimizer(config); });
}

std::unique_ptr<Input> build_input(Task& task, const ConfigOf<Input>& config, Phase phase,
                                   const std::string& usual_path) {
  InputContext context{.phase = phase, .name = usual_path};
  if (!config.path().empty()) context.name = config.path();
  std::unique_ptr<Input> input;
  build_from_config(context.name, config.origin(), [&] {
    input = build_with(task, "build_inputs", [&] { return task.build_inputs(config, context); });
    // Some inputs read their data now; errors in it are also config errors.
    in_plugin(item_of(*input), "batches_per_epoch", context.name,
              [&] { return input->batches_per_epoch(); });
  });
  const Value* set = config.fields().find("prefetch");
  const std::int64_t depth = set != nullptr ? set->as_integer() : InputConfig{}.prefetch;
  if (depth == 0) return input;
  return std::make_unique<PrefetchInput>(std::move(input), depth, context.name);
}

void reset(Metrics& metrics) {
  for_each(metrics, "reset_state", [](Metric& metric) { metric.reset_state(); });
}

Logs results(const Metrics& metrics) {
  Logs logs;
  for_each(metrics, "result",
           [&](const Metric& metric) { add_results(logs, metric.result(), "task.metrics"); });
  return logs;
}

void add_results(Logs& logs, const Logs& more, const std::string& path) {
  for (const auto& [name, value] : more) {
    if (logs.find(name) != nullptr) {
      throw ConfigError(Diagnostic{.path = path,
                                   .what = fmt::format("two metrics report '{}'", name),
                                   .hint = "give one of them a name of its own"});
    }
    logs.set(name, value);
  }
}

Value metric_names(const Metrics& metrics) {
  Value names = Value::array();
  for (const auto& [name, value] : results(metrics)) names.push_back(name);
  return names;
}

Value save_metrics(const Metrics& metrics) {
  Value states = Value::array();
  for_each(metrics, "save_state",
           [&](const Metric& metric) { states.push_back(metric.save_state()); });
  return states;
}

void restore_metrics(const Value& states, const Metrics& metrics) {
  if (states.items().size() != metrics.size()) {
    throw RunError(fmt::format("the checkpoint has the state of {} metrics, the task has {}",
                               states.items().size(), metrics.size()));
  }
  std::size_t next = 0;
  for_each(metrics, "restore_state",
           [&](Metric& metric) { metric.restore_state(states.items()[next++]); });
}

}  // namespace trivet
