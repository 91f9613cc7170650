// SPDX-License-Identifier: Apache-2.0
#include "train/resume_check.h"

#include <array>
#include <string_view>

#include <fmt/core.h>

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

bool breaks(std::string_view path) {
  if (path == "trainer.type" || path == "trainer.optimizer.type") return true;
  if (is_any_of(path, {"trainer.learners", "trainer.frozen"})) return true;
  if (!is_at_or_below(path, "task")) return false;
  return !is_any_of(path, {"task.train_input", "task.eval_input", "task.init_checkpoint",
                           "task.init_load", "task.name"});
}

void compare(const Value* before, const Value* after, const std::string& path,
             std::vector<ConfigChange>& changes) {
  const bool tables = (before == nullptr || before->is_table()) &&
                      (after == nullptr || after->is_table()) && before != after;
  if (tables) {
    if (before != nullptr) {
      for (const Value::Member& member : before->members()) {
        compare(&member.value, after != nullptr ? after->find(member.key) : nullptr,
                joined_path(path, member.key), changes);
      }
    }
    if (after != nullptr) {
      for (const Value::Member& member : after->members()) {
        if (before != nullptr && before->find(member.key) != nullptr) continue;
        compare(nullptr, &member.value, joined_path(path, member.key), changes);
      }
    }
    return;
  }
  // A file cannot hold a null, so none and null are one.
  const Value null;
  const Value& old_value = before != nullptr ? *before : null;
  const Value& new_value = after != nullptr ? *after : null;
  if (old_value == new_value || is_any_of(path, {"mode", "name"})) return;
  changes.push_back({.path = path,
                     .before = old_value.is_null() ? "" : to_toml(old_value),
                     .after = new_value.is_null() ? "" : to_toml(new_value),
                     .breaks = breaks(path)});
}

}  // namespace

std::vector<ConfigChange> config_changes(const Value& before, const Value& after) {
  std::vector<ConfigChange> changes;
  compare(&before, &after, "", changes);
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
