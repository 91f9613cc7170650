// SPDX-License-Identifier: Apache-2.0
#include "config/json_schema.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "trivet/json.h"

namespace trivet {
namespace {

using Form = FieldType::Form;
using Json = nlohmann::ordered_json;

// JSON has no infinity; a default that is infinite is left out.
bool is_in_json(const Value& value) {
  if (value.is_null()) return false;
  return !value.is_number() || std::isfinite(value.as_number());
}

class SchemaWriter {
 public:
  SchemaWriter(ConfigCatalog& catalog, bool insist) : catalog_(catalog), insist_(insist) {}

  Json table(const std::vector<Field>& fields);
  Json kind_ref(const std::string& kind);
  Json type_ref(const std::string& kind, const std::string& key);

  std::string finish(Json schema, const std::string& title) {
    Json whole = {{"$schema", "http://json-schema.org/draft-07/schema#"}, {"title", title}};
    whole.update(schema);
    whole["definitions"] = std::move(definitions_);
    // Docs come from plugins and need not be UTF-8.
    return whole.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  }

 private:
  bool takes_numbers(const std::string& kind);
  Json field(const Field& field);
  Json of_type(const FieldType& type, const Field& field);
  Json number(const char* name, const Field& field);
  Json or_reference(Json schema);
  static Json ref(const std::string& name) { return {{"$ref", "#/definitions/" + name}}; }
  // A definition's name stands in a JSON pointer, where '/' would separate.
  static std::string definition(const std::string& kind, const std::string& key) {
    std::string name = kind + ":" + key;
    std::replace(name.begin(), name.end(), '/', '.');
    return name;
  }

  ConfigCatalog& catalog_;
  bool insist_;
  Json definitions_ = Json::object();
};

Json SchemaWriter::or_reference(Json schema) {
  definitions_["reference"] = {{"type", "string"}, {"pattern", "^\\$\\{[^}]+\\}$"}};
  return {{"anyOf", Json::array({std::move(schema), ref("reference")})}};
}

Json SchemaWriter::number(const char* name, const Field& field) {
  Json schema = {{"type", name}};
  if (field.low) schema[field.low_open ? "exclusiveMinimum" : "minimum"] = *field.low;
  if (field.high) schema[field.high_open ? "exclusiveMaximum" : "maximum"] = *field.high;
  return schema;
}

Json SchemaWriter::of_type(const FieldType& type, const Field& field) {
  switch (type.form) {
    case Form::boolean:
      return or_reference({{"type", "boolean"}});
    case Form::integer:
      return or_reference(number("integer", field));
    case Form::number:
      return or_reference(number("number", field));
    case Form::duration: {
      Json any = Json::array({number("number", field), {{"type", "string"}}});
      return {{"anyOf", std::move(any)}};
    }
    case Form::interval: {
      Json any = Json::array({number("integer", field), {{"type", "string"}}});
      return {{"anyOf", std::move(any)}};
    }
    case Form::text:
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
      return Json::object();
  }
  return Json::object();
}

Json SchemaWriter::field(const Field& field) {
  Json schema = of_type(field.type, field);
  if (field.type.optional) schema = {{"anyOf", Json::array({schema, {{"const", "none"}}})}};
  Json described = Json::object();
  if (!field.doc.empty()) described["description"] = field.doc;
  if (!field.required && field.default_value && is_in_json(*field.default_value)) {
    described["default"] = Json::parse(to_json(*field.default_value));
  }
  // Draft 7 ignores what stands beside a $ref.
  if (schema.contains("$ref")) schema = {{"allOf", Json::array({schema})}};
  described.update(schema);
  return described;
}

Json SchemaWriter::table(const std::vector<Field>& fields) {
  Json properties = Json::object();
  Json required = Json::array();
  for (const Field& each : fields) {
    properties[each.name] = field(each);
    for (const std::string& alias : each.aliases) {
      properties[alias] = properties[each.name];
      properties[alias]["description"] = "Old name of " + each.name + ".";
    }
    if (each.required && each.aliases.empty()) required.push_back(each.name);
  }
  Json schema = {{"type", "object"}, {"additionalProperties", false}, {"properties", properties}};
  if (insist_ && !required.empty()) schema["required"] = std::move(required);
  return schema;
}

Json SchemaWriter::type_ref(const std::string& kind, const std::string& key) {
  const std::string name = definition(kind, key);
  if (definitions_.contains(name)) return ref(name);
  definitions_[name] = Json::object();  // for types that contain themselves
  Problems problems;
  const Schema* schema = catalog_.schemas().find(kind, key, {}, {}, problems);
  problems.throw_if_any();
  Json body = table(schema->fields);
  Json properties = {{"type", {{"const", key}, {"description", "A " + kind + "."}}}};
  properties.update(body["properties"]);
  body["properties"] = std::move(properties);
  if (insist_) {
    if (!body.contains("required")) body["required"] = Json::array();
    body["required"].insert(body["required"].begin(), "type");
  }
  definitions_[name] = std::move(body);
  return ref(name);
}

bool SchemaWriter::takes_numbers(const std::string& kind) {
  try {
    return catalog_.schemas().for_number(kind).has_value();
  } catch (const Error&) {
    return false;  // more than one type claims them: a number would be refused
  }
}

Json SchemaWriter::kind_ref(const std::string& kind) {
  const std::string name = "kind:" + kind;
  if (definitions_.contains(name)) return ref(name);
  definitions_[name] = Json::object();
  const std::vector<std::string> keys = catalog_.keys(kind);
  std::vector<std::string> texts = keys;
  texts.emplace_back("none");
  Json any = Json::array({{{"enum", texts}}});
  if (takes_numbers(kind)) any.push_back({{"type", "number"}});
  for (const std::string& key : keys) any.push_back(type_ref(kind, key));
  definitions_[name] = or_reference({{"anyOf", std::move(any)}});
  return ref(name);
}

}  // namespace

std::string config_json_schema(const Schema& root, ConfigCatalog& catalog) {
  SchemaWriter writer(catalog, false);
  Json schema = writer.table(root.fields);
  // A file that stands alone must be complete at the top, unless it launches other programs.
  Json required = Json::array();
  for (const Field& field : root.fields) {
    if (field.required) required.push_back(field.name);
  }
  Json has_one = Json::array();
  for (const char* key : {"base", "experiment", "xp"}) {
    has_one.push_back({{"required", Json::array({key})}});
  }
  schema["if"] = {{"not", {{"anyOf", std::move(has_one)}}}};
  schema["then"] = {{"required", std::move(required)}};
  return writer.finish(std::move(schema), "trivet config");
}

std::string kind_json_schema(const std::string& kind, ConfigCatalog& catalog) {
  SchemaWriter writer(catalog, true);
  return writer.finish({{"allOf", Json::array({writer.kind_ref(kind)})}}, "a " + kind);
}

std::string type_json_schema(const std::string& key, ConfigCatalog& catalog) {
  SchemaWriter writer(catalog, true);
  const std::vector<std::string> kinds = catalog.kinds_of(key);
  if (kinds.empty()) {
    std::vector<std::string> known;
    for (const std::string& kind : catalog.kinds_of({})) {
      for (std::string& each : catalog.keys(kind)) known.push_back(std::move(each));
    }
    throw ConfigError(Problem{{}, {}, "there is no '" + key + "'", suggestion(key, known)});
  }
  Json any = Json::array();
  for (const std::string& kind : kinds) any.push_back(writer.type_ref(kind, key));
  return writer.finish({{"anyOf", std::move(any)}}, key);
}

}  // namespace trivet
