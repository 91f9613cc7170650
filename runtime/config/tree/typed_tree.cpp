// SPDX-License-Identifier: Apache-2.0
#include "config/tree/typed_tree.h"

#include <algorithm>

namespace trivet {
namespace {

using Form = FieldType::Form;

bool is_none(const Value& value) noexcept {
  return value.is_string() && value.as_string() == "none";
}

const Value* type_of(const Value& table) noexcept {
  const Value* type = table.find("type");
  return type != nullptr && type->is_string() ? type : nullptr;
}

// The number of names under which a table has this field.
std::size_t names_given(const Value& table, const Field& field) {
  std::size_t count = table.find(field.name) != nullptr ? 1 : 0;
  for (const std::string& alias : field.aliases) count += table.find(alias) != nullptr ? 1 : 0;
  return count;
}

}  // namespace

const Field* find_field(const std::vector<Field>* fields, std::string_view name) noexcept {
  if (fields == nullptr) return nullptr;
  for (const Field& field : *fields) {
    if (field.name == name) return &field;
  }
  for (const Field& field : *fields) {
    if (std::find(field.aliases.begin(), field.aliases.end(), name) != field.aliases.end()) {
      return &field;
    }
  }
  return nullptr;
}

Value::Member* find_member(Value& table, const Field& field) noexcept {
  if (!table.is_table()) return nullptr;
  Value::Member* old = nullptr;
  for (Value::Member& member : table.members()) {
    if (member.key == field.name) return &member;
    const auto& aliases = field.aliases;
    if (std::find(aliases.begin(), aliases.end(), member.key) != aliases.end()) old = &member;
  }
  return old;
}

bool has_reference(const Value& value) noexcept {
  return value.is_string() && value.as_string().find("${") != std::string::npos;
}

TypedTree::TypedTree(const Schema& root, SchemaLookup& lookup) : lookup_(lookup) {
  root_.form = Form::table;
  root_.struct_name = root.name;
  root_.fields = root.fields;
}

const Schema* TypedTree::schema(const std::string& kind, const std::string& key) const {
  const auto [entry, is_new] = schemas_.try_emplace({kind, key}, nullptr);
  if (is_new) {
    Diagnostics ignored;  // validation reports them with their location
    entry->second = lookup_.find(kind, key, {}, {}, ignored);
  }
  return entry->second;
}

std::optional<ScalarShorthand> TypedTree::for_number(const std::string& kind) const {
  try {
    return lookup_.for_number(kind);
  } catch (const Error&) {
    return std::nullopt;  // several items accept numbers: validation reports it with the
                          // location
  }
}

std::string TypedTree::key_at(const Value& value, const SchemaNode& node) const {
  if (!node.is_config()) return {};
  if (is_none(value) || has_reference(value)) return {};
  if (value.is_string()) return value.as_string();
  if (value.is_float() || value.is_integer()) {
    const auto item = for_number(node.type->kind);
    return item ? item->key : std::string();
  }
  if (const Value* type = type_of(value)) return has_reference(*type) ? "" : type->as_string();
  if (node.default_value == nullptr || is_none(*node.default_value)) return {};
  if (node.default_value->is_string()) return node.default_value->as_string();
  const Value* type = type_of(*node.default_value);
  return type != nullptr ? type->as_string() : std::string();
}

const std::vector<Field>* TypedTree::fields(const Value& value, const SchemaNode& node) const {
  if (node.type == nullptr) return nullptr;
  if (node.type->form == Form::table) return &node.type->fields;
  const std::string key = key_at(value, node);
  if (key.empty()) return nullptr;
  const Schema* found = schema(node.type->kind, key);
  return found != nullptr ? &found->fields : nullptr;
}

SchemaNode TypedTree::child(const Value& value, const SchemaNode& node,
                            std::string_view name) const {
  if (node.type != nullptr && node.type->form == Form::map) return element(node);
  const Field* field = find_field(fields(value, node), name);
  if (field == nullptr) return {};
  return {&field->type, field->default_value ? &*field->default_value : nullptr, field};
}

SchemaNode TypedTree::element(const SchemaNode& node) const noexcept {
  if (node.type == nullptr || node.type->element.empty()) return {};
  return {&node.type->element[0], nullptr, nullptr};
}

void TypedTree::expand(Value& value, const SchemaNode& node) const {
  if (!node.is_config() || is_none(value) || has_reference(value)) return;
  const bool number = value.is_float() || value.is_integer();
  if (!number && !value.is_string()) return;
  const Origin origin = value.origin();
  Value table = Value::table();
  if (value.is_string()) {
    table.set("type", std::move(value));
  } else {
    const auto item = for_number(node.type->kind);
    if (!item) return;
    table.set("type", item->key).set_origin(origin);
    table.set(item->field, std::move(value));
  }
  table.set_origin(origin);
  value = std::move(table);
}

void TypedTree::merge(Value& lower, Value upper, const SchemaNode& node) const {
  if (!lower.is_null() && !upper.is_table()) {
    const std::string key = key_at(upper, node);
    if (!key.empty() && key == key_at(lower, node)) expand(upper, node);
  }
  if (!upper.is_table()) {
    lower = std::move(upper);
    return;
  }
  const Value* type = node.is_config() || node.type == nullptr ? type_of(upper) : nullptr;
  if (type != nullptr) {
    const Value* below = type_of(lower);
    const std::string before = node.is_config()   ? key_at(lower, node)
                               : below != nullptr ? below->as_string()
                                                  : "";
    if (!before.empty() && before != type->as_string()) lower = Value();
  }
  expand(lower, node);
  if (!lower.is_table()) {
    lower = std::move(upper);
    return;
  }
  lower.set_origin(upper.origin());
  merge_members(lower, std::move(upper), node);
}

void TypedTree::merge_members(Value& lower, Value upper, const SchemaNode& node) const {
  const Value typed =
      type_of(upper) != nullptr ? Value::table({{"type", *type_of(upper)}}) : Value();
  const Value& deciding = typed.is_null() ? lower : typed;
  const std::vector<Field>* known = fields(deciding, node);
  std::vector<const Field*> owners;
  for (const Value::Member& member : upper.members()) {
    const Field* field = find_field(known, member.key);
    // Old and new name in one layer: both are kept, and validation reports them.
    owners.push_back(field != nullptr && names_given(upper, *field) > 1 ? nullptr : field);
  }
  std::size_t index = 0;
  for (Value::Member& member : upper.members()) {
    const Field* field = owners[index++];
    Field free;
    free.name = member.key;
    Value::Member* below = find_member(lower, field != nullptr ? *field : free);
    if (below == nullptr) {
      lower.members().push_back(std::move(member));
      continue;
    }
    below->key_origin = member.key_origin;
    const SchemaNode inner = child(deciding, node, member.key);
    merge(below->value, std::move(member.value), inner);
  }
}

}  // namespace trivet
