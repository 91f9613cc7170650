// SPDX-License-Identifier: Apache-2.0
#include "config/json_schema.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <nlohmann/json.hpp>

#include "trivet/config/json.h"
#include "trivet/config/quantity.h"

namespace trivet {
namespace {

using Form = FieldType::Form;
using OrderedJson = nlohmann::ordered_json;

// JSON has no infinity, so infinite defaults are omitted.
bool is_in_json(const Value& value) {
  if (value.is_null()) return false;
  return !value.is_float() || std::isfinite(value.as_float());
}

// Part of a config may leave out what a file below it says, or what a default brings.
enum class RequiredFields { may_be_elsewhere, insisted };

class SchemaWriter {
 public:
  SchemaWriter(ConfigCatalog& catalog, RequiredFields required)
      : catalog_(catalog), required_(required) {}

  OrderedJson table(const std::vector<Field>& fields);
  OrderedJson kind_ref(const std::string& kind);
  OrderedJson type_ref(const std::string& kind, const std::string& key);

  std::string finish(OrderedJson schema, const std::string& title) {
    OrderedJson whole = {{"$schema", "http://json-schema.org/draft-07/schema#"}, {"title", title}};
    whole.update(schema);
    whole["definitions"] = std::move(definitions_);
    // Docs come from plugins and may not be UTF-8.
    return whole.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
  }

 private:
  bool takes_numbers(const std::string& kind);
  OrderedJson field(const Field& field);
  OrderedJson of_type(const FieldType& type, const Field& field);
  OrderedJson number(const char* name, const Field& field);
  OrderedJson or_reference(OrderedJson schema);
  static OrderedJson ref(const std::string& name) { return {{"$ref", "#/definitions/" + name}}; }
  // A definition's name is part of a JSON pointer, in which '/' is a separator.
  static std::string definition(const std::string& kind, const std::string& key) {
    std::string name = kind + ":" + key;
    std::replace(name.begin(), name.end(), '/', '.');
    return name;
  }

  ConfigCatalog& catalog_;
  RequiredFields required_;
  OrderedJson definitions_ = OrderedJson::object();
};

OrderedJson SchemaWriter::or_reference(OrderedJson schema) {
  definitions_["reference"] = {{"type", "string"}, {"pattern", "^\\$\\{[^}]+\\}$"}};
  return {{"anyOf", OrderedJson::array({std::move(schema), ref("reference")})}};
}

OrderedJson SchemaWriter::number(const char* name, const Field& field) {
  OrderedJson schema = {{"type", name}};
  if (field.low) schema[field.low_open ? "exclusiveMinimum" : "minimum"] = *field.low;
  if (field.high) schema[field.high_open ? "exclusiveMaximum" : "maximum"] = *field.high;
  return schema;
}

OrderedJson SchemaWriter::of_type(const FieldType& type, const Field& field) {
  switch (type.form) {
    case Form::boolean:
      return or_reference({{"type", "boolean"}});
    case Form::integer:
      return or_reference(number("integer", field));
    case Form::floating:
      return or_reference(number("number", field));
    case Form::string:
    case Form::path:
    case Form::choice:
      if (type.choices.empty()) return {{"type", "string"}};
      return or_reference({{"enum", type.choices}});
    case Form::list:
      return or_reference({{"type", "array"}, {"items", of_type(type.element[0], field)}});
    case Form::map:
      return or_reference(
          {{"type", "object"}, {"additionalProperties", of_type(type.element[0], field)}});
    case Form::table:
      return or_reference(table(type.fields));
    case Form::config:
      return kind_ref(type.kind);
    case Form::value:
      return OrderedJson::object();
    case Form::quantity: {
      const char* name = quantity_of(type).is_whole ? "integer" : "number";
      OrderedJson any = OrderedJson::array({number(name, field), {{"type", "string"}}});
      return {{"anyOf", std::move(any)}};
    }
  }
  return OrderedJson::object();
}

OrderedJson SchemaWriter::field(const Field& field) {
  OrderedJson schema = of_type(field.type, field);
  if (field.type.optional) schema = {{"anyOf", OrderedJson::array({schema, {{"const", "none"}}})}};
  OrderedJson described = OrderedJson::object();
  if (!field.doc.empty()) described["description"] = field.doc;
  if (!field.required && field.default_value && is_in_json(*field.default_value)) {
    described["default"] = OrderedJson::parse(to_json(*field.default_value));
  }
  if (field.adjustable) described["x-adjustable"] = true;
  // Draft 7 ignores the siblings of a $ref.
  if (schema.contains("$ref")) schema = {{"allOf", OrderedJson::array({schema})}};
  described.update(schema);
  return described;
}

OrderedJson SchemaWriter::table(const std::vector<Field>& fields) {
  OrderedJson properties = OrderedJson::object();
  OrderedJson required = OrderedJson::array();
  for (const Field& each : fields) {
    properties[each.name] = field(each);
    for (const std::string& alias : each.aliases) {
      properties[alias] = properties[each.name];
      properties[alias]["description"] = "Old name of " + each.name + ".";
    }
    if (each.required && each.aliases.empty()) required.push_back(each.name);
  }
  OrderedJson schema = {
      {"type", "object"}, {"additionalProperties", false}, {"properties", properties}};
  if (required_ == RequiredFields::insisted && !required.empty()) {
    schema["required"] = std::move(required);
  }
  return schema;
}

OrderedJson SchemaWriter::type_ref(const std::string& kind, const std::string& key) {
  const std::string name = definition(kind, key);
  if (definitions_.contains(name)) return ref(name);
  definitions_[name] = OrderedJson::object();  // for types that contain themselves
  Diagnostics diagnostics;
  const Schema* schema = catalog_.schemas().find(kind, key, {}, {}, diagnostics);
  diagnostics.throw_if_any();
  OrderedJson body = table(schema->fields);
  OrderedJson properties = {{"type", {{"const", key}, {"description", "A " + kind + "."}}}};
  properties.update(body["properties"]);
  body["properties"] = std::move(properties);
  if (required_ == RequiredFields::insisted) {
    if (!body.contains("required")) body["required"] = OrderedJson::array();
    body["required"].insert(body["required"].begin(), "type");
  }
  definitions_[name] = std::move(body);
  return ref(name);
}

bool SchemaWriter::takes_numbers(const std::string& kind) {
  try {
    return catalog_.schemas().for_number(kind).has_value();
  } catch (const Error&) {
    return false;  // several types accept numbers: a number is an error
  }
}

OrderedJson SchemaWriter::kind_ref(const std::string& kind) {
  const std::string name = "kind:" + kind;
  if (definitions_.contains(name)) return ref(name);
  definitions_[name] = OrderedJson::object();
  const std::vector<std::string> keys = catalog_.keys(kind);
  std::vector<std::string> texts = keys;
  texts.emplace_back("none");
  OrderedJson any = OrderedJson::array({{{"enum", texts}}});
  if (takes_numbers(kind)) any.push_back({{"type", "number"}});
  for (const std::string& key : keys) any.push_back(type_ref(kind, key));
  definitions_[name] = or_reference({{"anyOf", std::move(any)}});
  return ref(name);
}

}  // namespace

std::string config_json_schema(const Schema& root, ConfigCatalog& catalog) {
  SchemaWriter writer(catalog, RequiredFields::may_be_elsewhere);
  OrderedJson schema = writer.table(root.fields);
  // A file without a base must be complete at the top level, unless it launches other programs.
  OrderedJson required = OrderedJson::array();
  for (const Field& field : root.fields) {
    if (field.required) required.push_back(field.name);
  }
  OrderedJson has_one = OrderedJson::array();
  for (const char* key : {"base", "experiment", "xp"}) {
    has_one.push_back({{"required", OrderedJson::array({key})}});
  }
  schema["if"] = {{"not", {{"anyOf", std::move(has_one)}}}};
  schema["then"] = {{"required", std::move(required)}};
  return writer.finish(std::move(schema), "trivet config");
}

std::string kind_json_schema(const std::string& kind, ConfigCatalog& catalog) {
  SchemaWriter writer(catalog, RequiredFields::insisted);
  return writer.finish({{"allOf", OrderedJson::array({writer.kind_ref(kind)})}}, "a " + kind);
}

std::string type_json_schema(const std::string& key, ConfigCatalog& catalog) {
  SchemaWriter writer(catalog, RequiredFields::insisted);
  const std::vector<std::string> kinds = catalog.kinds_of(key);
  if (kinds.empty()) {
    std::vector<std::string> known;
    for (const std::string& kind : catalog.kinds_of({})) {
      for (std::string& each : catalog.keys(kind)) known.push_back(std::move(each));
    }
    throw ConfigError(Diagnostic{{}, {}, "unknown key '" + key + "'", suggestion(key, known)});
  }
  OrderedJson any = OrderedJson::array();
  for (const std::string& kind : kinds) any.push_back(writer.type_ref(kind, key));
  return writer.finish({{"anyOf", std::move(any)}}, key);
}

}  // namespace trivet
