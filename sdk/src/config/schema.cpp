// SPDX-License-Identifier: Apache-2.0
// Schemas as data: their texts, the collection of problems, and the JSON of a plugin's note.
#include "trivet/config/schema.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <functional>
#include <tuple>
#include <utility>

#include <nlohmann/json.hpp>

#include "config/article.h"
#include "trivet/config/detail/codec.h"
#include "trivet/config/quantity.h"

namespace trivet {

FieldType::FieldType() = default;
FieldType::FieldType(const FieldType&) = default;
FieldType::FieldType(FieldType&&) noexcept = default;
FieldType& FieldType::operator=(const FieldType&) = default;
FieldType& FieldType::operator=(FieldType&&) noexcept = default;
FieldType::~FieldType() = default;

SchemaLookup::~SchemaLookup() = default;

bool operator==(const FieldType& a, const FieldType& b) {
  const auto parts = [](const FieldType& t) {
    return std::tie(t.form, t.optional, t.single, t.lowest, t.highest, t.quantity, t.kind,
                    t.struct_name, t.choices);
  };
  return parts(a) == parts(b) && a.element == b.element && a.fields == b.fields;
}

namespace {

using Form = FieldType::Form;

constexpr std::pair<std::string_view, Form> kForms[] = {
    {"boolean", Form::boolean}, {"integer", Form::integer}, {"float", Form::floating},
    {"string", Form::string},   {"path", Form::path},       {"choice", Form::choice},
    {"list", Form::list},       {"map", Form::map},         {"table", Form::table},
    {"config", Form::config},   {"value", Form::value},
};

std::optional<Form> form_named(std::string_view name) {
  if (find_quantity(name) != nullptr) return Form::quantity;
  for (const auto& [known, form] : kForms) {
    if (known == name) return form;
  }
  return std::nullopt;
}

std::string bound_text(double bound) {
  return to_toml(Value(bound));
}

}  // namespace

std::string to_string(const FieldType& type) {
  std::string text = type.optional ? "optional " : "";
  switch (type.form) {
    case Form::quantity:
      return text + type.quantity;
    case Form::list:
      return text + "list of " + to_string(type.element.at(0));
    case Form::map:
      return text + "map of " + to_string(type.element.at(0));
    case Form::table:
      return text + type.struct_name;
    case Form::config:
      return text + "config of " + with_article(type.kind);
    case Form::value:
      return text + "free value";
    default:
      break;
  }
  for (const auto& [name, form] : kForms) {
    if (form == type.form) text += name;
  }
  return text;
}

std::string range_text(const Field& field) {
  const auto number = [](double bound) {
    const std::string text = bound_text(bound);
    return text.ends_with(".0") ? text.substr(0, text.size() - 2) : text;
  };
  if (field.low && field.high) {
    return std::string("in ") + (field.low_open ? "(" : "[") + number(*field.low) + ", " +
           number(*field.high) + (field.high_open ? ")" : "]");
  }
  if (field.low) return (field.low_open ? "> " : ">= ") + number(*field.low);
  if (field.high) return (field.high_open ? "< " : "<= ") + number(*field.high);
  return {};
}

const Field* Schema::find(std::string_view field) const noexcept {
  for (const Field& candidate : fields) {
    if (candidate.name == field) return &candidate;
    for (const std::string& alias : candidate.aliases) {
      if (alias == field) return &candidate;
    }
  }
  return nullptr;
}

void Diagnostics::add(Diagnostic problem) {
  list_.push_back(std::move(problem));
}

namespace {

// Only a dot or a bracket makes a path of it: a key of a map may hold anything.
std::vector<PathStep> steps_of(std::string_view field) {
  if (field.empty()) return {};
  if (field.find_first_of(".[") == std::string_view::npos) return {{std::string(field), -1}};
  return split_path(field);
}

}  // namespace

void Diagnostics::add(std::string_view field, std::string what, std::string hint) {
  Origin where;
  std::string path = path_;
  const Value* at = table_;
  if (at != nullptr) where = at->origin();
  for (const PathStep& step : steps_of(field)) {
    const std::string name = step.index < 0 ? joined_path("", step.name)
                                            : joined_path("", static_cast<std::size_t>(step.index));
    path = step.index < 0 ? joined_path(path, step.name)
                          : joined_path(path, static_cast<std::size_t>(step.index));
    if (at != nullptr) at = at->find_path(name);
    // A default stands nowhere: then the table around it is the location to look at.
    if (at != nullptr && (at->origin().line > 0 || where.line == 0)) where = at->origin();
  }
  add({std::move(where), path, std::move(what), std::move(hint)});
}

void Diagnostics::sort() {
  const auto location = [](const Diagnostic& p) {
    return std::tuple(!p.where.known(), std::cref(p.where.file).get(), p.where.line,
                      p.where.column);
  };
  std::stable_sort(list_.begin(), list_.end(), [&](const Diagnostic& a, const Diagnostic& b) {
    return location(a) < location(b);
  });
}

void Diagnostics::throw_if_any() {
  if (list_.empty()) return;
  sort();
  throw ConfigError(std::move(list_));
}

Diagnostics::Inside::Inside(Diagnostics& diagnostics, std::string path, const Value& table)
    : diagnostics_(diagnostics),
      path_(std::exchange(diagnostics.path_, std::move(path))),
      table_(std::exchange(diagnostics.table_, &table)) {}

Diagnostics::Inside::~Inside() {
  diagnostics_.path_ = std::move(path_);
  diagnostics_.table_ = table_;
}

namespace {

// As a note would say it: a config without fields is its key.
Value note_default(const FieldType& type, const Value& value) {
  if (type.form == Form::config && value.is_table() && value.members().size() == 1) {
    return value.members()[0].value;
  }
  if (type.form != Form::list || !value.is_array()) return value;
  Value items = Value::array();
  for (const Value& item : value.items()) {
    items.push_back(note_default(type.element.at(0), item));
  }
  return items;
}

}  // namespace

void complete_defaults(Schema& schema, const Value& defaults) {
  const auto complete = [](auto& self, std::vector<Field>& fields, const Value& values) -> void {
    for (Field& field : fields) {
      const Value* value = values.find(field.name);
      if (value == nullptr) continue;
      if (field.type.form == Form::table && !field.type.optional) {
        self(self, field.type.fields, *value);
      } else if (!field.default_value) {
        field.default_value = note_default(field.type, *value);
      }
    }
  };
  complete(complete, schema.fields, defaults);
}

// ---- the note's JSON. It comes from files of strangers: every access is checked, depth is
// limited. ----
namespace {

using Json = nlohmann::json;
constexpr int kDeepest = 32;

double double_of(const Json& json) {
  const auto& text = json.get_ref<const std::string&>();
  std::uint64_t bits = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bits, 16);
  if (text.size() != 16 || error != std::errc{} || end != text.data() + text.size()) {
    throw Error("'" + text + "' is not the bits of a number");
  }
  return std::bit_cast<double>(bits);
}

Value default_of(const Json& json, const FieldType& type, int depth);

Value table_default(const Json& json, const FieldType& type, int depth) {
  Value table = Value::table();
  for (const Field& field : type.fields) {
    if (json.contains(field.name)) {
      table.set(field.name, default_of(json.at(field.name), field.type, depth));
    }
  }
  return table;
}

// Texts, integers and lists of these; null for all else.
Value free_default_of(const Json& json, int depth) {
  if (depth > kDeepest) throw Error("a default is nested too deeply");
  if (json.is_string()) return json.get<std::string>();
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (!json.is_array()) return {};
  Value items = Value::array();
  for (const Json& item : json) items.push_back(free_default_of(item, depth + 1));
  return items;
}

Value quantity_default(const Json& json, const Quantity& quantity) {
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (quantity.has_text_defaults) return json.get<std::string>();
  return double_of(json);
}

Value default_of(const Json& json, const FieldType& type, int depth) {
  if (depth > kDeepest) throw Error("a default is nested too deeply");
  if (json.is_null()) return {};
  switch (type.form) {
    case Form::boolean:
      return json.get<bool>();
    case Form::integer:
      return json.get<std::int64_t>();
    case Form::floating:
      return double_of(json);
    case Form::string:
    case Form::path:
    case Form::choice:
    case Form::config:
      return json.get<std::string>();
    case Form::list: {
      Value items = Value::array();
      for (const Json& item : json.get_ref<const Json::array_t&>()) {
        items.push_back(default_of(item, type.element.at(0), depth + 1));
      }
      return items;
    }
    case Form::map: {
      Value table = Value::table();
      for (const auto& [key, entry] : json.get_ref<const Json::object_t&>()) {
        table.set(key, default_of(entry, type.element.at(0), depth + 1));
      }
      return table;
    }
    case Form::table:
      return table_default(json, type, depth + 1);
    case Form::value:
      return free_default_of(json, depth);
    case Form::quantity:
      return quantity_of(type).as_written(quantity_default(json, quantity_of(type)));
  }
  return {};
}

std::vector<Field> fields_of(const Json& json, int depth);

FieldType type_of(const Json& json, int depth) {
  if (depth > kDeepest) throw Error("a type is nested too deeply");
  FieldType type;
  const auto& name = json.at("type").get_ref<const std::string&>();
  const std::optional<Form> form = form_named(name);
  if (!form) throw Error("there is no field type '" + name + "'");
  type.form = *form;
  if (type.form == Form::quantity) type.quantity = name;
  type.optional = json.value("optional", false);
  type.single = json.value("single", false);
  type.lowest = json.value("lowest", type.lowest);
  type.highest = json.value("highest", type.highest);
  type.kind = json.value("kind", std::string());
  if (type.form == Form::choice) type.choices = json.at("choices").get<std::vector<std::string>>();
  if (json.contains("allowed")) type.choices = json.at("allowed").get<std::vector<std::string>>();
  if (type.form == Form::list || type.form == Form::map) {
    type.element.push_back(type_of(json.at("element"), depth + 1));
  }
  if (type.form == Form::table) {
    type.struct_name = json.value("struct", std::string());
    type.fields = fields_of(json.at("fields"), depth + 1);
  }
  return type;
}

// Choices given for a list or map of texts are those of its elements.
void move_choices_inside(FieldType& type) {
  FieldType* inner = &type;
  while (!inner->element.empty()) inner = &inner->element[0];
  if (inner != &type) inner->choices = std::exchange(type.choices, {});
}

Field field_of(const Json& json, int depth) {
  Field field;
  field.name = json.at("name").get<std::string>();
  field.type = type_of(json, depth);
  if (json.contains("allowed")) move_choices_inside(field.type);
  field.doc = json.value("doc", std::string());
  field.required = json.value("required", false);
  field.adjustable = json.value("adjustable", false);
  field.names_metric = json.value("names_metric", false);
  if (json.contains("low")) field.low = double_of(json.at("low"));
  if (json.contains("high")) field.high = double_of(json.at("high"));
  field.low_open = json.value("low_open", false);
  field.high_open = json.value("high_open", false);
  if (json.contains("aliases")) field.aliases = json.at("aliases").get<std::vector<std::string>>();
  if (json.contains("default")) field.default_value = default_of(json.at("default"), field.type, 0);
  return field;
}

std::vector<Field> fields_of(const Json& json, int depth) {
  std::vector<Field> fields;
  for (const Json& field : json.get_ref<const Json::array_t&>()) {
    fields.push_back(field_of(field, depth));
  }
  return fields;
}

}  // namespace

Schema schema_from_json(std::string_view json) {
  try {
    const Json parsed = Json::parse(json);
    return {parsed.at("name").get<std::string>(), fields_of(parsed.at("fields"), 0)};
  } catch (const Json::exception& error) {
    throw Error(std::string("the text is not a schema: ") + error.what());
  }
}

}  // namespace trivet
