// SPDX-License-Identifier: Apache-2.0
#include "train/step_parts.h"

#include <utility>

#include "train/config_faults.h"
#include "train/prefetch_input.h"

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

}  // namespace

std::unique_ptr<Model> build_model(Task& task, const ConfigOf<Model>& config, Scope& scope) {
  return build_with(task, "build_model", [&] { return task.build_model(config, scope); });
}

std::unique_ptr<Optimizer> create_optimizer(Task& task, const ConfigOf<Optimizer>& config) {
  return build_with(task, "create_optimizer", [&] { return task.create_optimizer(config); });
}

Metrics build_metrics(Task& task, Phase phase) {
  return in_task(task, "build_metrics", [&] {
    Metrics metrics = task.build_metrics(phase);
    for (const auto& metric : metrics) {
      if (!metric) throw PluginError("its build_metrics returned nothing instead of a metric");
    }
    return metrics;
  });
}

std::unique_ptr<Input> build_input(Task& task, const ConfigOf<Input>& config, Phase phase) {
  InputContext context{.phase = phase,
                       .name = phase == Phase::training ? "task.train_input" : "task.eval_input"};
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
  for_each(metrics, "result", [&](const Metric& metric) { logs.merge(metric.result()); });
  return logs;
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
