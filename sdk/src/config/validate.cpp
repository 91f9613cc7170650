// SPDX-License-Identifier: Apache-2.0
// Checks a config against a schema. Nothing else does. The host calls it for whole files, decode()
// for one struct.
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <optional>

#include "config/field_names.h"
#include "config/unknown_keys.h"
#include "trivet/config/detail/codec.h"
#include "trivet/config/quantity.h"
#include "trivet/config/schema.h"

namespace trivet {
namespace {

using Form = FieldType::Form;

std::string form_text(const FieldType& type) {
  switch (type.form) {
    case Form::boolean:
      return "true or false";
    case Form::integer:
      return "an integer";
    case Form::floating:
      return "a number";
    case Form::string:
      return "a string";
    case Form::path:
      return "a string with a file name";
    case Form::choice:
      return "a string";
    case Form::list:
      return "an array";
    case Form::map:
    case Form::table:
      return "a table";
    case Form::config:
      return "a table with a 'type', or the type alone";
    case Form::value:
      return "anything";
    case Form::quantity:
      return std::string(quantity_of(type).expected);
  }
  return {};
}

class Validator {
 public:
  Validator(SchemaLookup* lookup, Diagnostics& diagnostics)
      : lookup_(lookup), diagnostics_(diagnostics) {}

  enum class Table { plain, with_type };  // with_type: the key 'type' is no field, but allowed
  void check_table(const Value& table, const std::vector<Field>& fields, const std::string& path,
                   Table is);
  void report_unknown_keys() { unknown_.report(diagnostics_); }

 private:
  void check(const Value& value, const FieldType& type, const Field& field,
             const std::string& path);
  void check_form(const Value& value, const FieldType& type, const Field& field,
                  const std::string& path);
  void check_integer(const Value& value, const FieldType& type, const Field& field,
                     const std::string& path);
  void check_range(const Value& value, double number, const Field& field, const std::string& path);
  void check_text(const Value& value, const FieldType& type, const std::string& path);
  void check_quantity(const Value& value, const FieldType& type, const Field& field,
                      const std::string& path);
  void check_config(const Value& value, const FieldType& type, const std::string& path);
  void note_default_tables(const FieldType& type, const std::string& path);
  void wrong_type(const Value& value, const FieldType& type, const std::string& path);
  void add(const Value& at, const std::string& path, std::string what, std::string hint = {}) {
    diagnostics_.add({at.origin(), path, std::move(what), std::move(hint)});
  }

  SchemaLookup* lookup_;
  Diagnostics& diagnostics_;
  UnknownKeys unknown_;
};

// space.trainer.learning_rate = { uniform = [0, 1] } for space."trainer.learning_rate": the name
// that was meant.
std::optional<std::string> name_cut_at_dots(const Value::Member& entry, const FieldType& type) {
  if (type.form != Form::table) return std::nullopt;
  std::string name = entry.key;
  const Value* table = &entry.value;
  while (table->is_table() && !table->members().empty()) {
    const Value::Member* other = nullptr;
    bool has_fields = false;
    for (const Value::Member& member : table->members()) {
      const bool is_field = field_named(type.fields, member.key) != nullptr;
      if (!is_field && other == nullptr) other = &member;
      // An empty table is a default that was filled in.
      const bool is_filled = member.value.is_table() && member.value.members().empty();
      has_fields = has_fields || (is_field && !member.value.is_null() && !is_filled);
    }
    if (has_fields || other == nullptr) break;
    name += "." + other->key;
    table = &other->value;
  }
  if (table == &entry.value || !table->is_table()) return std::nullopt;
  return name;
}

void Validator::wrong_type(const Value& value, const FieldType& type, const std::string& path) {
  const std::string found = value.is_table() || value.is_array() || value.is_null()
                                ? std::string(to_string(value.type()))
                                : std::string(to_string(value.type())) + ", " + to_toml(value);
  add(value, path, "expected " + form_text(type) + ", found " + found);
}

void Validator::check_table(const Value& table, const std::vector<Field>& fields,
                            const std::string& path, Table is) {
  const bool allow_type = is == Table::with_type;
  const std::size_t index = unknown_.add_table(path, fields);
  if (!table.is_null() && !table.is_table()) {
    add(table, path, "expected a table, found " + std::string(to_string(table.type())));
    return;
  }
  for (const Field& field : fields) {
    const Value* value = detail::find_field(table, field);
    if (value != nullptr) {
      check(*value, field.type, field, joined_path(path, field.name));
    } else if (field.required) {
      add(table, path, "the required key '" + field.name + "' is missing", field.doc);
    } else {
      note_default_tables(field.type, joined_path(path, field.name));
    }
  }
  if (table.is_null()) return;
  for (const Value::Member& member : table.members()) {
    if (allow_type && member.key == "type") continue;
    const Field* field = field_named(fields, member.key);
    if (field == nullptr) {
      unknown_.add_key(member.key_origin.known() ? member.key_origin : member.value.origin(), index,
                       member.key, member.value.is_table());
    } else if (&member.value != detail::find_field(table, *field)) {
      add(member.value, joined_path(path, member.key),
          "is an old name of '" + field->name + "', which is set, too");
    }
  }
}

// Tables that the file leaves out are candidates for keys in the wrong location, too.
void Validator::note_default_tables(const FieldType& type, const std::string& path) {
  if (type.form != Form::table) return;
  unknown_.add_table(path, type.fields);
  for (const Field& field : type.fields) {
    note_default_tables(field.type, joined_path(path, field.name));
  }
}

void Validator::check(const Value& value, const FieldType& type, const Field& field,
                      const std::string& path) {
  if (type.optional && (value.is_null() || (detail::is_none(value) && type.form != Form::string))) {
    return;
  }
  if (value.is_null() && type.form != Form::config && type.form != Form::value &&
      type.form != Form::table) {
    return wrong_type(value, type, path);
  }
  check_form(value, type, field, path);
}

void Validator::check_form(const Value& value, const FieldType& type, const Field& field,
                           const std::string& path) {
  switch (type.form) {
    case Form::boolean:
      if (!value.is_boolean()) wrong_type(value, type, path);
      return;
    case Form::integer:
      return check_integer(value, type, field, path);
    case Form::floating:
      if (!value.is_float() && !value.is_integer()) return wrong_type(value, type, path);
      if (type.single && std::isfinite(value.as_float()) &&
          std::fabs(value.as_float()) > static_cast<double>(FLT_MAX)) {
        return add(value, path, "does not fit a 32-bit float");
      }
      return check_range(value, value.as_float(), field, path);
    case Form::string:
    case Form::path:
    case Form::choice:
      return check_text(value, type, path);
    case Form::list: {
      if (!value.is_array()) return wrong_type(value, type, path);
      std::size_t index = 0;
      for (const Value& item : value.items()) {
        check(item, type.element[0], field, joined_path(path, index++));
      }
      return;
    }
    case Form::map:
      if (!value.is_table()) return wrong_type(value, type, path);
      for (const Value::Member& member : value.members()) {
        if (const auto name = name_cut_at_dots(member, type.element[0])) {
          add(member.value, joined_path(path, member.key),
              "'" + member.key + "' is a table of tables",
              "put a name with dots in it in quotes: \"" + *name + "\"");
          continue;
        }
        check(member.value, type.element[0], field, joined_path(path, member.key));
      }
      return;
    case Form::table:
      return check_table(value, type.fields, path, Table::plain);
    case Form::config:
      return check_config(value, type, path);
    case Form::value:
      return;
    case Form::quantity:
      return check_quantity(value, type, field, path);
  }
}

void Validator::check_integer(const Value& value, const FieldType& type, const Field& field,
                              const std::string& path) {
  if (!value.is_integer()) return wrong_type(value, type, path);
  const std::int64_t number = value.as_integer();
  if (number < type.lowest || number > type.highest) {
    return add(value, path,
               "must be between " + std::to_string(type.lowest) + " and " +
                   std::to_string(type.highest) + ", found " + std::to_string(number));
  }
  check_range(value, static_cast<double>(number), field, path);
}

void Validator::check_range(const Value& value, double number, const Field& field,
                            const std::string& path) {
  // Written so that NaN fails.
  const bool high_enough =
      !field.low || (field.low_open ? number > *field.low : number >= *field.low);
  const bool low_enough =
      !field.high || (field.high_open ? number < *field.high : number <= *field.high);
  if (high_enough && low_enough) return;
  add(value, path, "must be " + range_text(field) + ", found " + to_toml(value));
}

void Validator::check_text(const Value& value, const FieldType& type, const std::string& path) {
  if (!value.is_string()) return wrong_type(value, type, path);
  if (type.choices.empty()) return;
  const std::string& text = value.as_string();
  if (std::find(type.choices.begin(), type.choices.end(), text) != type.choices.end()) return;
  std::string known;
  for (const std::string& choice : type.choices) known += (known.empty() ? "" : ", ") + choice;
  const bool near = !nearest_names(text, type.choices).empty();
  add(value, path, "'" + text + "' is not one of: " + known,
      near ? suggestion(text, type.choices) : "");
}

void Validator::check_quantity(const Value& value, const FieldType& type, const Field& field,
                               const std::string& path) {
  const Quantity& quantity = quantity_of(type);
  const std::optional<double> amount = quantity.amount(value);
  if (!amount) return wrong_type(value, type, path);
  if (value.is_string() && !quantity.not_positive.empty() && !(*amount > 0)) {
    return add(value, path, std::string(quantity.not_positive));
  }
  check_range(value, *amount, field, path);
}

void Validator::check_config(const Value& value, const FieldType& type, const std::string& path) {
  if (value.is_null() || detail::is_none(value)) return;
  if (value.is_float() || value.is_integer()) {
    if (lookup_ == nullptr) return;
    std::optional<ScalarShorthand> stands_for;
    try {
      stands_for = lookup_->for_number(type.kind);
    } catch (const Error& error) {
      return add(value, path, error.message(), error.hint());
    }
    if (!stands_for) return wrong_type(value, type, path);
    const Value table = Value::table({{stands_for->field, value}});
    const Schema* schema =
        lookup_->find(type.kind, stands_for->key, value.origin(), path, diagnostics_);
    if (schema != nullptr) check_table(table, schema->fields, path, Table::with_type);
    return;
  }
  const Value* key = value.is_string() ? &value : value.find("type");
  if (!value.is_string() && !value.is_table()) return wrong_type(value, type, path);
  if (key == nullptr) {
    return add(value, path, "the 'type' of the " + type.kind + " is missing",
               "a type is written plugin/Name");
  }
  if (!key->is_string()) return add(*key, joined_path(path, "type"), "expected a string");
  if (lookup_ == nullptr) return;
  const Schema* schema =
      lookup_->find(type.kind, key->as_string(), key->origin(), path, diagnostics_);
  if (schema == nullptr) return;
  const Value none = Value::table();
  check_table(value.is_table() ? value : none, schema->fields, path, Table::with_type);
}

}  // namespace

void validate(const Value& config, const Schema& schema, SchemaLookup* lookup,
              Diagnostics& diagnostics, const ValidateOptions& options) {
  Validator validator(lookup, diagnostics);
  validator.check_table(config, schema.fields, options.path,
                        options.allow_type ? Validator::Table::with_type : Validator::Table::plain);
  validator.report_unknown_keys();
}

}  // namespace trivet
