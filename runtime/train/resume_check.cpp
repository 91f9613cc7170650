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

// Whether a part of the path is this name: "model" is one of "task.tasks[1].task.model.hidden".
bool has_part(std::string_view path, std::string_view name) {
  for (std::size_t at = path.find(name); at != std::string_view::npos;
       at = path.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    const bool starts = at == 0 || path[at - 1] == '.';
    if (starts && (end == path.size() || path[end] == '.' || path[end] == '[')) return true;
  }
  return false;
}

// What weights are, what the numbers in them stand for, and which of them are trained by what: a
// model, and the types of tasks, trainers and optimizers. Fields of a task that change the shapes
// are found by restoring.
bool breaks(std::string_view path) {
  if (has_part(path, "model")) return true;
  if (is_any_of(path, {"trainer.learners", "trainer.frozen", "trainer.trainable"})) return true;
  for (const std::string_view part : {"task", "trainer", "optimizer"}) {
    if (path.ends_with(std::string(part) + ".type")) return true;
  }
  return false;
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
