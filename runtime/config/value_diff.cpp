// SPDX-License-Identifier: Apache-2.0
#include "config/value_diff.h"

namespace trivet {
namespace {

void compare(const Value* before, const Value* after, const std::string& path,
             std::vector<ValueDifference>& found) {
  const bool tables = (before == nullptr || before->is_table()) &&
                      (after == nullptr || after->is_table()) && before != after;
  if (tables) {
    if (before != nullptr) {
      for (const Value::Member& member : before->members()) {
        compare(&member.value, after != nullptr ? after->find(member.key) : nullptr,
                joined_path(path, member.key), found);
      }
    }
    if (after != nullptr) {
      for (const Value::Member& member : after->members()) {
        if (before != nullptr && before->find(member.key) != nullptr) continue;
        compare(nullptr, &member.value, joined_path(path, member.key), found);
      }
    }
    return;
  }
  const Value null;
  const Value& old_value = before != nullptr ? *before : null;
  const Value& new_value = after != nullptr ? *after : null;
  if (old_value == new_value) return;
  found.push_back({.path = path,
                   .before = old_value.is_null() ? "" : to_toml(old_value),
                   .after = new_value.is_null() ? "" : to_toml(new_value)});
}

}  // namespace

std::vector<ValueDifference> differences(const Value& before, const Value& after) {
  std::vector<ValueDifference> found;
  compare(&before, &after, "", found);
  return found;
}

}  // namespace trivet
