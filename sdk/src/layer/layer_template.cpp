// SPDX-License-Identifier: Apache-2.0
#include "trivet/layer/layer_template.h"

#include <string>
#include <utility>

namespace trivet {
namespace {

bool numeric(const Value& value) {
  return value.is_integer() || value.is_float();
}

bool same(const Value& a, const Value& b) {
  return numeric(a) && numeric(b) ? a.as_float() == b.as_float() : a == b;
}

bool is_empty_list(const Value& value) {
  return value.is_array() && value.items().empty();
}

bool says_nothing(const Value* given) {
  return given == nullptr || given->is_null() ||
         (given->is_string() && given->as_string() == "none");
}

}  // namespace

void complete(ConfigOf<Layer>& layer, std::string_view field, Value value, const Value& unset) {
  const Value* given = layer.fields().find(field);
  const bool open = says_nothing(given) || same(*given, unset);
  if (!open || same(value, unset)) return;
  Value fields = layer.fields();
  fields.set(field, std::move(value));
  layer = {std::string(layer.key()), std::move(fields)};
}

void complete_members(ConfigOf<Layer>& layer, std::string_view field, const Value& table) {
  const Value* given = layer.fields().find(field);
  Value members = says_nothing(given) ? Value::table() : *given;
  bool is_changed = false;
  for (const Value::Member& member : table.members()) {
    const Value* own = members.find(member.key);
    const bool is_open = says_nothing(own) || is_empty_list(*own);
    if (!is_open || is_empty_list(member.value)) continue;
    members.set(member.key, member.value);
    is_changed = true;
  }
  if (!is_changed) return;
  Value fields = layer.fields();
  fields.set(field, std::move(members));
  layer = {std::string(layer.key()), std::move(fields)};
}

}  // namespace trivet
