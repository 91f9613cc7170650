// SPDX-License-Identifier: Apache-2.0
#include "config/file_schema.h"

#include <string>
#include <utility>
#include <vector>

#include "trivet/config.h"
#include "trivet/experiment.h"
#include "trivet/launch/experiment.h"

namespace trivet {
namespace {

using Form = FieldType::Form;

FieldType type_of_form(Form form) {
  FieldType type;
  type.form = form;
  return type;
}

FieldType holding(Form form, FieldType element) {
  FieldType type = type_of_form(form);
  type.element.push_back(std::move(element));
  return type;
}

Field file_field(std::string name, std::string doc, FieldType type) {
  Field field;
  field.name = std::move(name);
  field.doc = std::move(doc);
  field.type = std::move(type);
  field.default_value = Value();
  return field;
}

Field xp_field() {
  FieldType type = type_of_form(Form::table);
  const Schema& schema = schema_of<launch::Experiment>();
  type.struct_name = schema.name;
  type.fields = schema.fields;
  return file_field("xp", "Settings of trivet launch: jobs, sweep, directories, orchestrator.",
                    std::move(type));
}

Field free_xp_field() {
  return file_field("xp", "The settings of trivet launch, and free values for references.",
                    holding(Form::map, type_of_form(Form::value)));
}

Schema with_file_fields(Schema schema, Field xp) {
  const FieldType free = type_of_form(Form::value);
  const FieldType free_tables = holding(Form::map, holding(Form::map, free));
  schema.fields.push_back(file_field("experiment", "A registered experiment to start from.",
                                     type_of_form(Form::string)));
  schema.fields.push_back(file_field(
      "restrictions",
      "Registered experiments whose restrictions hold for this config. The program adds the one "
      "that a config starts from, so that a run's config.toml is bound as well; [] on the command "
      "line lifts them.",
      holding(Form::list, type_of_form(Form::string))));
  schema.fields.push_back(file_field("base", "Config files below this one, relative to it.",
                                     holding(Form::list, type_of_form(Form::path))));
  schema.fields.push_back(file_field(
      "defaults", "Defaults for every table of a type: [defaults.\"plugin/Name\"].", free_tables));
  schema.fields.push_back(
      file_field("sweep", "Named sweeps: [sweep.NAME].", holding(Form::map, free)));
  schema.fields.push_back(std::move(xp));
  schema.fields.push_back(
      file_field("backend", "Options of a backend: [backend.\"plugin/Name\"].", free_tables));
  return schema;
}

}  // namespace

const Schema& config_file_schema() {
  static const Schema kSchema = with_file_fields(schema_of<ExperimentConfig>(), free_xp_field());
  return kSchema;
}

const Schema& launch_file_schema() {
  static const Schema kSchema = with_file_fields(schema_of<ExperimentConfig>(), xp_field());
  return kSchema;
}

const Schema& plain_launch_schema() {
  static const Schema kSchema =
      with_file_fields({"ExperimentConfig", std::vector<Field>()}, xp_field());
  return kSchema;
}

}  // namespace trivet
