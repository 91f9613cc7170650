// SPDX-License-Identifier: Apache-2.0
#include "launch/plan/job_layers.h"

#include <algorithm>
#include <utility>

#include "config/overrides/override.h"
#include "trivet/config/schema.h"

namespace trivet {
namespace {

bool is_merged(std::string_view field) {
  return field == "args" || field == "env" || field == "files";
}

// The value of a name in a table, or in the last table of a list that contains the name.
const Value* find_named(const Value& args, const std::string& name) {
  if (args.is_table()) return args.find(name);
  if (!args.is_array()) return nullptr;
  const Value* found = nullptr;
  for (const Value& item : args.items()) {
    const Value* here = item.is_table() ? item.find(name) : nullptr;
    if (here != nullptr) found = here;
  }
  return found;
}

void lay_table_over(Value& lower, const Value& upper) {
  if (lower.is_array()) {
    lower.push_back(upper);
    return;
  }
  for (const Value::Member& member : upper.members()) lower.set(member.key, member.value);
}

Value merged_with_fallback(const Value& all, const Value& own) {
  if (own.is_table()) {
    Value merged = all;
    lay_table_over(merged, own);
    return merged;
  }
  if (!all.is_table() || !own.is_array()) return own;
  Value missing = Value::table();
  for (const Value::Member& member : all.members()) {
    if (find_named(own, member.key) == nullptr) missing.set(member.key, member.value);
  }
  Value merged = own;
  if (!missing.members().empty()) merged.push_back(std::move(missing));
  return merged;
}

template <class Each>
bool all_leaves(const Value& value, const Each& holds) {
  if (value.is_array() && !value.items().empty()) {
    return std::all_of(value.items().begin(), value.items().end(),
                       [&](const Value& item) { return all_leaves(item, holds); });
  }
  if (value.is_table() && !value.members().empty()) {
    return std::all_of(value.members().begin(), value.members().end(),
                       [&](const auto& member) { return all_leaves(member.value, holds); });
  }
  return holds(value);
}

bool is_hidden(const Value& all, const Value& own) {
  return has_from_command_line(all) && !(own == all) && !is_from_command_line(own);
}

// The names in args, env or files that the upper layer hides. A table over a list hides nothing; a
// list over a list hides everything.
void add_hidden_members(const std::string& field, const Value& all, const Value& own,
                        std::vector<HiddenValue>& hidden) {
  if (all.is_array() && own.is_array() && is_hidden(all, own)) {
    hidden.push_back({field, &all, &own});
    return;
  }
  const auto add_table = [&](const Value& table) {
    for (const Value::Member& member : table.members()) {
      const Value* below = find_named(own, member.key);
      if (below == nullptr || !is_hidden(member.value, *below)) continue;
      hidden.push_back({joined_path(field, member.key), &member.value, below});
    }
  };
  if (all.is_table()) add_table(all);
  if (!all.is_array()) return;
  for (const Value& item : all.items()) {
    if (item.is_table()) add_table(item);
  }
}

}  // namespace

void lay_over(Value& lower, const Value& upper) {
  for (const Value::Member& member : upper.members()) {
    Value* below = lower.find(member.key);
    const bool merge = below != nullptr && is_merged(member.key) && member.value.is_table() &&
                       (below->is_table() || below->is_array());
    if (merge) {
      lay_table_over(*below, member.value);
    } else {
      lower.set(member.key, member.value);
    }
  }
}

Value with_fallback(const Value& all, const Value& job) {
  Value merged = all;
  for (const Value::Member& member : job.members()) {
    const Value* below = all.find(member.key);
    const bool merge = below != nullptr && is_merged(member.key);
    merged.set(member.key, merge ? merged_with_fallback(*below, member.value) : member.value);
  }
  return merged;
}

bool is_from_command_line(const Value& value) {
  return all_leaves(value, [](const Value& leaf) { return leaf.origin().file == kCommandLine; });
}

bool has_from_command_line(const Value& value) {
  return !all_leaves(value, [](const Value& leaf) { return leaf.origin().file != kCommandLine; });
}

std::vector<HiddenValue> hidden_options(const Value& all, const Value& job) {
  std::vector<HiddenValue> hidden;
  for (const Value::Member& member : all.members()) {
    const Value* own = job.find(member.key);
    if (own == nullptr) continue;
    if (is_merged(member.key)) {
      add_hidden_members(member.key, member.value, *own, hidden);
    } else if (is_hidden(member.value, *own)) {
      hidden.push_back({member.key, &member.value, own});
    }
  }
  return hidden;
}

}  // namespace trivet
