// SPDX-License-Identifier: Apache-2.0
#include "config/tree/defaults_filler.h"

#include <utility>
#include <vector>

#include "config/toml/text_checks.h"

namespace trivet {
namespace {

using Form = FieldType::Form;

// Far more tables than any experiment has. Defaults that contain themselves twice double at each
// level, so the depth limit alone is not enough.
constexpr std::size_t kMostTables = 100000;

void mark_default(Value& value) {
  if (!value.is_null()) value.set_origin({.note = kDefaultNote});
  if (value.is_array()) {
    for (Value& item : value.items()) mark_default(item);
  }
  if (!value.is_table()) return;
  for (Value::Member& member : value.members()) mark_default(member.value);
}

}  // namespace

void DefaultsFiller::fill(Value& root) {
  depth_ = count_ = 0;
  endless_ = false;
  fill_value(root, tree_.root(), {});
}

bool DefaultsFiller::may_go_deeper(const Value& value, const std::string& path) {
  if (depth_ < 2 * kDeepestNesting && count_ < kMostTables) return !endless_;
  if (!endless_) {
    const std::string shown = path.size() > 100 ? path.substr(0, 100) + "..." : path;
    diagnostics_.add({value.origin(), shown, "the defaults of a type contain that type without end",
                      "look for a type among its own defaults"});
  }
  endless_ = true;
  return false;
}

void DefaultsFiller::fill_value(Value& value, const SchemaNode& node, const std::string& path) {
  if (node.type == nullptr || !may_go_deeper(value, path)) return;
  ++depth_;
  switch (node.type->form) {
    case Form::list:
      if (!value.is_array()) break;
      for (std::size_t i = 0; i < value.items().size(); ++i) {
        fill_value(value.items()[i], tree_.element(node), joined_path(path, i));
      }
      break;
    case Form::map:
      if (!value.is_table()) break;
      for (Value::Member& member : value.members()) {
        fill_value(member.value, tree_.element(node), joined_path(path, member.key));
      }
      break;
    case Form::table:
      if (value.is_table()) fill_fields(value, node.type->fields, path);
      break;
    case Form::config:
      fill_config(value, node, path);
      break;
    default:
      break;
  }
  --depth_;
}

void DefaultsFiller::fill_config(Value& value, const SchemaNode& node, const std::string& path) {
  tree_.expand(value, node);
  if (!value.is_table()) return;
  const std::string key = tree_.key_at(value, node);
  if (key.empty()) return;
  if (value.find("type") == nullptr) {
    Value below = *node.default_value;
    mark_default(below);
    tree_.expand(below, node);
    tree_.merge(below, std::move(value), node);
    value = std::move(below);
  }
  if (const Value* defaults = by_type_.find(key); defaults != nullptr && defaults->is_table()) {
    Value below = *defaults;
    below.set("type", *value.find("type"));
    tree_.merge(below, std::move(value), node);
    value = std::move(below);
  }
  const Schema* schema = tree_.schema(node.type->kind, key);
  if (schema != nullptr) fill_fields(value, schema->fields, path);
}

void DefaultsFiller::fill_fields(Value& table, const std::vector<Field>& fields,
                                 const std::string& path) {
  ++count_;
  std::erase_if(table.members(),
                [](const Value::Member& member) { return member.value.is_null(); });
  Value::Table ordered;
  std::vector<bool> taken(table.members().size());
  const auto take = [&](Value::Member& member) {
    taken[static_cast<std::size_t>(&member - table.members().data())] = true;
    ordered.push_back(std::move(member));
  };
  for (Value::Member& member : table.members()) {
    if (member.key == "type" && find_field(&fields, "type") == nullptr) take(member);
  }
  for (const Field& field : fields) {
    const SchemaNode node{&field.type, field.default_value ? &*field.default_value : nullptr,
                          &field};
    if (Value::Member* member = find_member(table, field)) {
      take(*member);
      ordered.back().key = field.name;
    } else if (field.type.form == Form::table && !field.type.optional) {
      ordered.push_back({field.name, Value::table(), {}});
      mark_default(ordered.back().value);
    } else if (field.default_value && !field.default_value->is_null() && !field.required) {
      ordered.push_back({field.name, *field.default_value, {}});
      mark_default(ordered.back().value);
    } else {
      continue;
    }
    fill_value(ordered.back().value, node, joined_path(path, field.name));
  }
  for (Value::Member& member : table.members()) {
    if (!taken[static_cast<std::size_t>(&member - table.members().data())]) take(member);
  }
  table.members() = std::move(ordered);
}

}  // namespace trivet
