// SPDX-License-Identifier: Apache-2.0
// Code that trainers share for a step of a task: batches, errors, metrics.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "trivet/error.h"
#include "trivet/input.h"
#include "trivet/metric.h"
#include "trivet/plugin/plugin_call.h"
#include "trivet/task.h"

namespace trivet {

// The objects that the task builds from a config. Exceptions of its methods name its plugin, and a
// null object is a PluginError. An input is wrapped in a PrefetchInput unless its `prefetch` is 0.
std::unique_ptr<Model> build_model(Task& task, const ConfigOf<Model>& config, Scope& scope);
// `usual_path` is used for errors where the config does not know its own.
std::unique_ptr<Input> build_input(Task& task, const ConfigOf<Input>& config, Phase phase,
                                   const std::string& usual_path);
std::unique_ptr<Optimizer> create_optimizer(Task& task, const ConfigOf<Optimizer>& config);

void reset(Metrics& metrics);
// Throws ConfigError if two metrics report a number of one name.
Logs results(const Metrics& metrics);
void add_results(Logs& logs, const Logs& more, const std::string& path);
// The metrics of `results`.
Value metric_names(const Metrics& metrics);
Value save_metrics(const Metrics& metrics);
// Throws RunError if the state has another number of metrics.
void restore_metrics(const Value& states, const Metrics& metrics);

// Calls a method of the task. Its exceptions name the task's plugin.
template <class Body>
decltype(auto) in_task(const Task& task, const char* method, Body&& body) {
  return in_plugin(item_of(task), method, "task", std::forward<Body>(body));
}

// Exceptions of a task's step that are not an Error also get the step number.
template <class Body>
auto in_step(std::string_view kind, std::int64_t step, Body&& body) {
  try {
    return body();
  } catch (const PluginError& failure) {
    throw PluginError(fmt::format("{} step {}: {}", kind, step, failure.message()),
                      failure.details());
  } catch (const Error&) {
    throw;
  } catch (const std::exception& failure) {
    throw RunError(fmt::format("{} step {} failed: {}", kind, step, failure.what()),
                   {.path = "task"});
  }
}

}  // namespace trivet
