// SPDX-License-Identifier: Apache-2.0
#include "config/tree/drop_defaults.h"

#include <utility>

namespace trivet {
namespace {

using Form = FieldType::Form;

bool is_default(const Value& value, const TypedTree& tree, const SchemaNode& node) {
  if (node.field == nullptr || node.field->required || node.default_value == nullptr) return false;
  Value standard = *node.default_value;
  Value given = value;
  tree.expand(standard, node);
  tree.expand(given, node);
  return standard == given;
}

// A struct without remaining members need not be written; a ConfigOf still names its type.
bool says_nothing(const Value& value, const SchemaNode& node) {
  return node.type != nullptr && node.type->form == Form::table && !node.type->optional &&
         value.is_table() && value.members().empty();
}

}  // namespace

void drop_defaults(Value& value, const TypedTree& tree, const SchemaNode& node) {
  if (value.is_array()) {
    for (Value& item : value.items()) drop_defaults(item, tree, tree.element(node));
  }
  if (!value.is_table() || node.type == nullptr) return;
  Value::Table kept;
  for (Value::Member& member : value.members()) {
    const SchemaNode inner = tree.child(value, node, member.key);
    if (is_default(member.value, tree, inner)) continue;
    Value::Member changed = member;
    drop_defaults(changed.value, tree, inner);
    if (!says_nothing(changed.value, inner)) kept.push_back(std::move(changed));
  }
  value.members() = std::move(kept);
}

}  // namespace trivet
