// SPDX-License-Identifier: Apache-2.0
#include "train/resume_check.h"

#include <array>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "config/value_diff.h"

namespace trivet {
namespace {

bool is_at_or_below(std::string_view path, std::string_view parent) {
  if (!path.starts_with(parent)) return false;
  return path.size() == parent.size() || path[parent.size()] == '.' || path[parent.size()] == '[';
}

bool is_any_of(std::string_view path, std::initializer_list<std::string_view> parents) {
  for (const std::string_view parent : parents) {
    if (is_at_or_below(path, parent)) return true;
  }
  return false;
}

// What may change of an entry of task.tasks or trainer.stages: how long or how often it is
// trained, on which data, at which rate.
bool is_free_in_entry(std::string_view path) {
  const std::size_t end = path.find(']');
  if (end == std::string_view::npos || end + 2 > path.size()) return false;
  return is_any_of(path.substr(end + 2),
                   {"steps", "train_input", "eval_input", "learning_rate", "weight", "eval_steps",
                    "task.train_input", "task.eval_input"});
}

bool breaks(std::string_view path) {
  if (path == "trainer.type" || path == "trainer.optimizer.type") return true;
  if (is_any_of(path, {"trainer.learners", "trainer.frozen", "trainer.trainable"})) return true;
  if (is_any_of(path, {"task.tasks", "trainer.stages"})) return !is_free_in_entry(path);
  if (!is_at_or_below(path, "task")) return false;
  return !is_any_of(
      path, {"task.train_input", "task.eval_input", "task.init_checkpoint", "task.init_load",
             "task.name", "task.sampler", "task.decode", "task.sample_prompts"});
}

}  // namespace

std::vector<ConfigChange> config_changes(const Value& before, const Value& after) {
  std::vector<ConfigChange> changes;
  for (ValueDifference& found : differences(before, after)) {
    if (is_any_of(found.path, {"mode", "name"})) continue;
    // A field that there was not when the run was started: it means what was done then.
    if (found.before.empty() && found.is_default) continue;
    const bool stops = breaks(found.path);
    changes.push_back({.path = std::move(found.path),
                       .before = std::move(found.before),
                       .after = std::move(found.after),
                       .breaks = stops});
  }
  return changes;
}

std::string to_string(const std::vector<ConfigChange>& changes) {
  std::string text;
  for (const ConfigChange& change : changes) {
    text += fmt::format("{}  {}: {} -> {}", text.empty() ? "" : "\n", change.path,
                        change.before.empty() ? "(not set)" : change.before,
                        change.after.empty() ? "(not set)" : change.after);
  }
  return text;
}

}  // namespace trivet
