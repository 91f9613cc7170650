// SPDX-License-Identifier: Apache-2.0
// Completes a config that is known to be valid: names of fields instead of aliases, tables instead
// of bare keys and numbers, defaults.
#include <utility>

#include "config/field_names.h"
#include "trivet/config/detail/codec.h"
#include "trivet/config/schema.h"

namespace trivet {
namespace {

using Form = FieldType::Form;

// The table behind a ConfigOf value that is known to be valid; null when there is nothing.
Value config_table(const Value& value, const FieldType& type, SchemaLookup* lookup) {
  if (value.is_table()) return value;
  if (value.is_null() || detail::is_none(value)) return value;
  Value table = Value::table();
  if (value.is_string()) {
    table.set("type", value);
  } else {
    const auto stands_for = lookup != nullptr ? lookup->for_number(type.kind) : std::nullopt;
    if (!stands_for) return value;
    table.set("type", stands_for->key).set_origin(value.origin());
    table.set(stands_for->field, value);
  }
  table.set_origin(value.origin());
  return table;
}

void fill_fields(Value& table, const std::vector<Field>& fields, SchemaLookup* lookup);

void fill_value(Value& value, const FieldType& type, SchemaLookup* lookup) {
  if (type.optional && (value.is_null() || detail::is_none(value))) return;
  switch (type.form) {
    case Form::list:
      for (Value& item : value.items()) fill_value(item, type.element[0], lookup);
      return;
    case Form::map:
      for (Value::Member& member : value.members()) {
        fill_value(member.value, type.element[0], lookup);
      }
      return;
    case Form::table:
      return fill_fields(value, type.fields, lookup);
    case Form::config: {
      value = config_table(value, type, lookup);
      if (!value.is_table() || lookup == nullptr) return;
      const Value* key = value.find("type");
      if (key == nullptr || !key->is_string()) return;
      Diagnostics ignored;  // the config has been validated
      const Schema* schema = lookup->find(type.kind, key->as_string(), {}, {}, ignored);
      if (schema != nullptr) fill_fields(value, schema->fields, lookup);
      return;
    }
    default:
      return;
  }
}

void fill_fields(Value& table, const std::vector<Field>& fields, SchemaLookup* lookup) {
  if (table.is_null()) {
    Origin origin = table.origin();
    table = Value::table();
    table.set_origin(std::move(origin));
  }
  for (const Field& field : fields) {
    for (Value::Member& member : table.members()) {
      if (is_name_of(field, member.key)) member.key = field.name;
    }
    Value* value = table.find(field.name);
    if (value == nullptr) {
      const bool nested = field.type.form == Form::table && !field.type.optional;
      if (!nested && (!field.default_value || field.default_value->is_null())) continue;
      value = &table.set(field.name, nested ? Value::table() : *field.default_value);
    }
    fill_value(*value, field.type, lookup);
  }
}

}  // namespace

void fill_defaults(Value& config, const Schema& schema, SchemaLookup* lookup) {
  fill_fields(config, schema.fields, lookup);
}

}  // namespace trivet
