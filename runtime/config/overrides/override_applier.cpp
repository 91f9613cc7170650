// SPDX-License-Identifier: Apache-2.0
#include "config/overrides/override_applier.h"

#include <algorithm>
#include <utility>

#include "config/overrides/apply_overrides.h"
#include "config/overrides/match_paths.h"
#include "config/tree/defaults_filler.h"

namespace trivet {
namespace {

using OverrideAction = ParsedOverride::Action;
using Kind = OverrideStep::Kind;

void set_origins(Value& value, const Origin& first) {
  Origin origin = first;
  if (value.origin().column > 0) origin.column = first.column + value.origin().column - 1;
  value.set_origin(std::move(origin));
  if (value.is_array()) {
    for (Value& item : value.items()) set_origins(item, first);
  }
  if (!value.is_table()) return;
  for (Value::Member& member : value.members()) {
    const int column = first.column + std::max(1, member.key_origin.column) - 1;
    member.key_origin = first;
    member.key_origin.column = column;
    set_origins(member.value, first);
  }
}

const FieldType& text_type() {
  static const FieldType kText = [] {
    FieldType type;
    type.form = FieldType::Form::string;
    return type;
  }();
  return kText;
}

}  // namespace

Value filled_copy(const Value& root, const TypedTree& tree) {
  Value filled = root;
  Diagnostics ignored;  // reported again when everything is filled
  const Value* by_type = root.find("defaults");
  const Value none;
  DefaultsFiller(tree, by_type != nullptr ? *by_type : none, ignored).fill(filled);
  return filled;
}

AppliedOverride OverrideApplier::apply() {
  refuse_reserved();
  const ParsedOverride& parsed = placed_.parsed;
  if (parsed.action == OverrideAction::remove) return remove();
  const std::vector<OverrideStep>& steps = parsed.steps;
  Location location{&root_, tree_.root(), {}, is_free_section(steps[0].name)};
  for (std::size_t i = 0; i + 1 < steps.size(); ++i) descend(location, steps[i]);
  const OverrideStep& last = steps.back();
  if (last.kind == Kind::name && last.name == "type" && location.node.is_config()) {
    return set_type(location);
  }
  if (last.kind == Kind::name && parsed.action == OverrideAction::set) require_key(location, last);
  descend(location, last);
  return set_value(location);
}

void OverrideApplier::fail(std::size_t at, const std::string& path, std::string what,
                           std::string hint) const {
  throw ConfigError(Diagnostic{origin(at), path, std::move(what), std::move(hint)});
}

Origin OverrideApplier::origin(std::size_t at) const {
  return override_origin(*placed_.given, placed_.number, at);
}

const Value& OverrideApplier::filled() {
  if (!filled_) filled_ = filled_copy(root_, tree_);
  return *filled_;
}

void OverrideApplier::refuse_reserved() const {
  const OverrideStep& first = placed_.parsed.steps[0];
  if (first.name != "experiment" && first.name != "base") return;
  fail(first.at, {}, "'" + first.name + "' cannot be an override",
       first.name == "base" ? "give a further file with --config_file" : "use --experiment NAME");
}

AppliedOverride OverrideApplier::set_value(Location& location) {
  const ParsedOverride& parsed = placed_.parsed;
  Value value;
  try {
    value = override_value(*placed_.given, parsed, location.node);
  } catch (const ConfigError& error) {
    const Diagnostic& problem = error.diagnostics().front();
    fail(parsed.value_at, location.path, problem.what, problem.hint);
  }
  set_origins(value, origin(parsed.value_at));
  AppliedOverride applied{&placed_, location.path, location.node, value};
  if (value.is_table() && !placed_.given->value) {
    replace(location, std::move(value));
  } else {
    tree_.merge(*location.value, std::move(value), location.node);
  }
  return applied;
}

// A table in one word replaces the part, but keeps the type if it names none.
void OverrideApplier::replace(Location& location, Value value) {
  const std::string type =
      location.node.is_config() ? tree_.key_at(*location.value, location.node) : "";
  if (!type.empty() && value.find("type") == nullptr) {
    value.set("type", type).set_origin(value.origin());
  }
  *location.value = std::move(value);
}

AppliedOverride OverrideApplier::set_type(Location& location) {
  const ParsedOverride& parsed = placed_.parsed;
  const Origin where = origin(parsed.value_at);
  Value type = override_value(*placed_.given, parsed, SchemaNode{&text_type(), nullptr, nullptr});
  type.set_origin(where);
  Value table = Value::table();
  table.set("type", std::move(type));
  table.set_origin(where);
  AppliedOverride applied{&placed_, location.path, location.node, table};
  tree_.merge(*location.value, std::move(table), location.node);
  return applied;
}

// A new key in a free table is usually a typo.
void OverrideApplier::require_key(const Location& location, const OverrideStep& step) {
  const bool free_table =
      location.free || (location.node.type != nullptr && location.node.is_free());
  if (!free_table || is_free_section(location.path.substr(0, location.path.find_first_of(".["))) ||
      is_free_section(step.name)) {
    return;
  }
  const std::string path = joined_path(location.path, step.name);
  if (location.value->find(step.name) != nullptr || filled().find_path(path) != nullptr) return;
  fail(step.at, path, "this free table has no key '" + step.name + "'",
       "write +" + path + "=... to add it");
}

void OverrideApplier::descend(Location& location, const OverrideStep& step) {
  if (step.kind == Kind::index) return descend_list(location, step);
  const Value& before = *location.value;
  tree_.expand(*location.value, location.node);
  const bool none = before.is_string() && before.as_string() == "none";
  if (before.is_null() || (none && location.node.is_config())) {
    *location.value = Value::table();
    location.value->set_origin(origin(step.at));
  }
  if (!location.value->is_table()) {
    fail(step.at, joined_path(location.path, step.name),
         "'" + location.path + "' is " + std::string(to_string(location.value->type())) +
             " and has no keys");
  }
  const SchemaNode inner = tree_.child(*location.value, location.node, step.name);
  const std::string& name = inner.field != nullptr ? inner.field->name : step.name;
  location.free = location.free || (location.node.type != nullptr && location.node.is_free());
  Field wanted;
  wanted.name = name;
  Value::Member* member = find_member(*location.value, inner.field ? *inner.field : wanted);
  if (member == nullptr) {
    location.value->members().push_back({name, Value(), {}});
    member = &location.value->members().back();
  }
  member->key_origin = origin(step.at);
  location = {&member->value, inner, joined_path(location.path, name), location.free};
}

void OverrideApplier::descend_list(Location& location, const OverrideStep& step) {
  if (location.value->is_null()) {
    const Value* standing = filled().find_path(location.path);
    if (standing != nullptr) *location.value = *standing;
  }
  const std::string path = joined_path(location.path, step.index);
  if (!location.value->is_array()) fail(step.at, path, "'" + location.path + "' is not a list");
  Value::Array& items = location.value->items();
  if (step.index >= items.size()) {
    fail(step.at, path, "the list has " + std::to_string(items.size()) + " elements",
         "indices start at 0");
  }
  location = {&items[step.index], tree_.element(location.node), path, location.free};
}

AppliedOverride OverrideApplier::remove() {
  const std::vector<OverrideStep>& steps = placed_.parsed.steps;
  Value* parent = &root_;
  SchemaNode node = tree_.root();
  std::string path;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const OverrideStep& step = steps[i];
    const bool last = i + 1 == steps.size();
    tree_.expand(*parent, node);
    if (step.kind == Kind::index) {
      if (!parent->is_array() || step.index >= parent->items().size()) report_absent(step);
      auto& items = parent->items();
      path = joined_path(path, step.index);
      if (last) {
        items.erase(items.begin() + static_cast<std::ptrdiff_t>(step.index));
        break;
      }
      parent = &items[step.index];
      node = tree_.element(node);
      continue;
    }
    const SchemaNode inner = tree_.child(*parent, node, step.name);
    Field wanted;
    wanted.name = step.name;
    Value::Member* member = find_member(*parent, inner.field ? *inner.field : wanted);
    if (member == nullptr) report_absent(step);
    path = joined_path(path, inner.field != nullptr ? inner.field->name : step.name);
    if (last) {
      parent->erase(std::string(member->key));
      break;
    }
    parent = &member->value;
    node = inner;
  }
  return {&placed_, path, {}, {}};
}

void OverrideApplier::report_absent(const OverrideStep& step) {
  const std::vector<OverrideStep>& steps = placed_.parsed.steps;
  const std::string path = path_text(steps);
  if (filled().find_path(path) != nullptr) {
    fail(steps[0].at, path, "nothing to remove: this is the default",
         "set it instead; an optional part is switched off by =none");
  }
  fail(step.at, path, "nothing to remove");
}

}  // namespace trivet
