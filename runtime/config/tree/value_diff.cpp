// SPDX-License-Identifier: Apache-2.0
#include "config/tree/value_diff.h"

#include "config/tree/defaults_filler.h"

namespace trivet {
namespace {

// Lists of tables of equal length are compared by entry, others as a whole.
bool are_alike_lists(const Value* before, const Value* after) {
  const auto is_list = [](const Value* value) {
    if (value == nullptr || !value->is_array() || value->items().empty()) return false;
    for (const Value& item : value->items()) {
      if (!item.is_table()) return false;
    }
    return true;
  };
  return is_list(before) && is_list(after) && before->items().size() == after->items().size();
}

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
  if (are_alike_lists(before, after)) {
    for (std::size_t i = 0; i < before->items().size(); ++i) {
      compare(&before->items()[i], &after->items()[i], joined_path(path, i), found);
    }
    return;
  }
  const Value null;
  const Value& old_value = before != nullptr ? *before : null;
  const Value& new_value = after != nullptr ? *after : null;
  if (old_value == new_value) return;
  found.push_back({.path = path,
                   .before = old_value.is_null() ? "" : to_toml(old_value),
                   .after = new_value.is_null() ? "" : to_toml(new_value),
                   .is_default = new_value.origin().note == kDefaultNote});
}

}  // namespace

std::vector<ValueDifference> differences(const Value& before, const Value& after) {
  std::vector<ValueDifference> found;
  compare(&before, &after, "", found);
  return found;
}

}  // namespace trivet
