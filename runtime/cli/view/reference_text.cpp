// SPDX-License-Identifier: Apache-2.0
#include "cli/view/reference_text.h"

#include <fmt/core.h>

#include "cli/view/field_text.h"

namespace trivet {
namespace {

constexpr const char* kTableHead =
    "| Field | Type | Default | Meaning |\n| --- | --- | --- | --- |\n";

// A bar would end the cell, and an angle bracket would start a tag.
std::string cell(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '|' || c == '<') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string default_cell(const Field& field) {
  if (field.required) return "required";
  if (!field.default_value) return "known to the plugin only";
  if (field.default_value->is_null()) return "none";
  return "`" + cell(to_toml(*field.default_value)) + "`";
}

std::string meaning_cell(const Field& field) {
  std::string text = cell(field.doc);
  if (const std::string choices = choices_text(field.type); !choices.empty()) {
    text += fmt::format(" One of: {}.", cell(choices));
  }
  if (field.adjustable) text += " *Adjustable.*";
  return text;
}

// The row of a field and those of the fields below it, by dotted names. Elements of lists and maps
// have no name.
std::string rows(const Field& field, const std::string& parent) {
  const std::string name = parent + field.name;
  const bool plain_table = field.type.form == FieldType::Form::table && !field.type.optional;
  std::string type = plain_table ? "table" : to_string(field.type);
  if (const std::string range = range_text(field); !range.empty()) type += " " + range;
  std::string text = fmt::format("| `{}` | {} | {} | {} |\n", name, cell(type),
                                 plain_table ? "" : default_cell(field), meaning_cell(field));
  const std::string below = field.type.form == FieldType::Form::list  ? name + "[]."
                            : field.type.form == FieldType::Form::map ? name + ".NAME."
                                                                      : name + ".";
  for (const Field& nested : nested_fields(field.type)) text += rows(nested, below);
  return text;
}

}  // namespace

std::string reference_page(const std::string& title, const std::string& parts) {
  const std::size_t end = parts.find_last_not_of('\n');
  return fmt::format(
      "# {}\n\nWritten by `trivet explain --markdown`. A field marked *adjustable* may change when "
      "a "
      "run continues.\n\n{}\n",
      title, parts.substr(0, end + 1));
}

std::string item_reference(const ManifestItem& item, const Schema* schema) {
  std::string text = fmt::format("## {} ({})\n\n", item.key, item.kind);
  if (!item.doc.empty()) text += item.doc + "\n\n";
  if (!item.scalar_shorthand.empty()) {
    text +=
        fmt::format("A bare number selects this item and sets `{}`.\n\n", item.scalar_shorthand);
  }
  if (schema == nullptr || schema->fields.empty()) return text + "It has no fields.\n\n";
  text += kTableHead;
  for (const Field& field : schema->fields) text += rows(field, {});
  return text + "\n";
}

std::string config_reference(const Schema& schema) {
  std::string top = fmt::format("## Top level\n\n{}", kTableHead);
  std::string sections;
  for (const Field& field : schema.fields) {
    if (field.type.form != FieldType::Form::table || field.type.fields.empty()) {
      top += rows(field, {});
      continue;
    }
    sections += fmt::format("## [{}]\n\n{}\n\n{}", field.name, field.doc, kTableHead);
    for (const Field& nested : field.type.fields) sections += rows(nested, {});
    sections += "\n";
  }
  return top + "\n" + sections;
}

}  // namespace trivet
