// SPDX-License-Identifier: Apache-2.0
#include "cli/view/field_text.h"

#include <fmt/core.h>

namespace trivet {
namespace {

std::string default_text(const Field& field) {
  if (field.required) return "required";
  if (!field.default_value) return "default: known only to the plugin";
  if (field.default_value->is_null()) return "default: nothing";
  return "default: " + to_toml(*field.default_value);
}

}  // namespace

std::string choices_text(const FieldType& type) {
  const FieldType* inner = &type;
  while (!inner->element.empty()) inner = &inner->element[0];
  std::string text;
  for (const std::string& choice : inner->choices) text += (text.empty() ? "" : ", ") + choice;
  return text;
}

const std::vector<Field>& nested_fields(const FieldType& type) {
  const FieldType* inner = &type;
  while (!inner->element.empty()) inner = &inner->element[0];
  return inner->fields;
}

std::string field_text(const Field& field, std::size_t indent) {
  const std::string margin(indent, ' ');
  std::string text = fmt::format("{}{}  ({}", margin, field.name, to_string(field.type));
  if (const std::string range = range_text(field); !range.empty()) text += " " + range;
  const bool plain_table = field.type.form == FieldType::Form::table && !field.type.optional;
  text += plain_table ? ")\n" : fmt::format(", {})\n", default_text(field));
  if (!field.doc.empty()) text += fmt::format("{}    {}\n", margin, field.doc);
  if (const std::string choices = choices_text(field.type); !choices.empty()) {
    text += fmt::format("{}    one of: {}\n", margin, choices);
  }
  if (field.adjustable) text += fmt::format("{}    may change when a run continues\n", margin);
  for (const Field& nested : nested_fields(field.type)) text += field_text(nested, indent + 4);
  return text;
}

std::string fields_text(const Schema& schema) {
  if (schema.fields.empty()) return "  It has no fields.\n";
  std::string text;
  for (const Field& field : schema.fields) text += field_text(field, 2);
  return text;
}

}  // namespace trivet
