// SPDX-License-Identifier: Apache-2.0
#include "evaluation/eval_sets.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "trivet/extensions/subtasks.h"
#include "trivet/plugin/plugin_call.h"
#include "trivet/plugin/registry.h"

namespace trivet {
namespace {

// Those that a task is made of; none if it is not made of others.
std::vector<Subtasks::Entry> subtasks_of(Task& task, Model* model, const std::string& path) {
  const auto* several = static_cast<const Subtasks*>(task.extension(kTaskSubtasks));
  if (several == nullptr) return {};
  return in_plugin(item_of(task), "subtasks", path, [&] { return several->subtasks(model); });
}

// `whole`: the task with its place; its name ends in '/' if it has one.
void add_sets(std::vector<EvalSet>& sets, const EvalSet& whole) {
  const std::vector<EvalInputConfig>& own = whole.task->config().eval_inputs;
  for (std::size_t i = 0; i < own.size(); ++i) {
    sets.push_back({.name = whole.name + own[i].name,
                    .path = fmt::format("{}.eval_inputs[{}]", whole.path, i),
                    .config = &own[i],
                    .task = whole.task,
                    .position = whole.position});
  }
  const auto parts = subtasks_of(*whole.task, nullptr, whole.path);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    EvalSet part{.name = whole.name + parts[i].name + "/",
                 .path = whole.path + "." + parts[i].path,
                 .task = parts[i].task,
                 .position = whole.position};
    part.position.push_back(i);
    add_sets(sets, part);
  }
}

}  // namespace

std::vector<EvalSet> eval_sets(Task& whole) {
  std::vector<EvalSet> sets;
  add_sets(sets, {.name = {}, .path = "task", .task = &whole});
  return sets;
}

bool has_main_evaluation(Task& whole) {
  if (whole.config().eval_input.has_value()) return true;
  if (!whole.config().eval_inputs.empty()) return false;
  const auto parts = subtasks_of(whole, nullptr, "task");
  return parts.empty() || std::ranges::any_of(parts, [](const Subtasks::Entry& part) {
           return has_main_evaluation(*part.task);
         });
}

std::string path_of_sets(Task& whole) {
  Task* task = &whole;
  std::string path = "task";
  while (true) {
    const auto parts = subtasks_of(*task, nullptr, path);
    if (parts.empty()) return path + ".eval_inputs";
    task = parts.front().task;
    path += "." + parts.front().path;
  }
}

Model& model_of(const EvalSet& set, Task& whole, Model& model) {
  Task* task = &whole;
  Model* own = &model;
  for (const std::size_t index : set.position) {
    const Subtasks::Entry part = subtasks_of(*task, own, set.path).at(index);
    task = part.task;
    own = part.model;
  }
  return *own;
}

}  // namespace trivet
