// SPDX-License-Identifier: Apache-2.0
// The round-trip check for config structs, on trees and schemas.
#include "trivet/testing/config_check.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace trivet::testing {
namespace {

using Form = FieldType::Form;

// A value near `value` that the field's limits allow, or nothing.
std::optional<Value> moved_number(const Field& field, double value, double step) {
  for (const double candidate : {value + step, value - step}) {
    const bool low = !field.low || candidate > *field.low;
    const bool high = !field.high || candidate < *field.high;
    if (low && high) return Value(candidate);
  }
  return std::nullopt;
}

std::optional<Value> another_choice(const FieldType& type, const Value& value) {
  for (const std::string& choice : type.choices) {
    if (!value.is_string() || choice != value.as_string()) return Value(choice);
  }
  return std::nullopt;
}

// Another value for the field, of the same form; nothing where there is none to make.
std::optional<Value> changed(const Field& field, const Value& value) {
  const FieldType& type = field.type;
  const bool empty = value.is_null();
  if (!type.choices.empty()) return another_choice(type, value);
  switch (type.form) {
    case Form::boolean:
      return Value(empty || !value.as_boolean());
    case Form::integer: {
      const auto moved =
          moved_number(field, empty ? 0.0 : static_cast<double>(value.as_integer()), 1.0);
      if (!moved) return std::nullopt;
      return Value(static_cast<std::int64_t>(moved->as_float()));
    }
    case Form::floating: {
      const double old = empty ? 0.0 : value.as_float();
      return moved_number(field, old, old == 0.0 ? 0.5 : std::abs(old) / 4);
    }
    case Form::string:
    case Form::path:
      return Value((empty ? std::string() : value.as_string()) + "x");
    case Form::list: {
      if (empty || value.items().empty()) return std::nullopt;
      Value longer = value;
      longer.push_back(value.items().back());
      return longer;
    }
    case Form::config:
      return Value::table({{"type", "other-plugin/Name"}, {"field", 1}});
    default:
      return std::nullopt;
  }
}

// A note may know fewer defaults of structs in lists and maps than the plugin, for what its
// compiler could not evaluate; the config's own are checked against a default-constructed one.
void take_unknown_defaults(std::vector<Field>& note, const std::vector<Field>& full);

void take_unknown_defaults(FieldType& note, const FieldType& full) {
  take_unknown_defaults(note.fields, full.fields);
  for (std::size_t i = 0; i < std::min(note.element.size(), full.element.size()); ++i) {
    take_unknown_defaults(note.element[i], full.element[i]);
  }
}

void take_unknown_defaults(std::vector<Field>& note, const std::vector<Field>& full) {
  for (std::size_t i = 0; i < std::min(note.size(), full.size()); ++i) {
    if (!note[i].default_value) note[i].default_value = full[i].default_value;
    take_unknown_defaults(note[i].type, full[i].type);
  }
}

class Check {
 public:
  explicit Check(const detail::ConfigSubject& subject) : subject_(subject) {}

  ConfigReport run() {
    check_note();
    check_sample();
    check_unknown_key();
    for (const Field& field : subject_.schema.fields) {
      check_doc(field);
      check_change(field);
      check_required(field);
      check_wrong_type(field);
      check_bounds(field);
    }
    return std::move(report_);
  }

 private:
  void expect(bool fine, std::string failure) {
    ++report_.checks;
    if (!fine) report_.failures.push_back(std::move(failure));
  }

  // The path of the first problem, or nothing when the value is taken.
  std::optional<std::string> refusal(const Value& value) const {
    try {
      subject_.round_trip(value);
    } catch (const ConfigError& error) {
      return error.diagnostics().empty() ? std::string() : error.diagnostics().front().path;
    }
    return std::nullopt;
  }

  void check_note() {
    Schema note = schema_from_json(subject_.json);
    complete_defaults(note, subject_.defaults);
    take_unknown_defaults(note.fields, subject_.schema.fields);
    expect(note == subject_.schema, "the schema in the plugin's file differs from schema_of");
  }

  void check_sample() {
    report_.valid_sample = !refusal(subject_.sample);
    expect(report_.valid_sample, "the sample is not a valid config");
    if (report_.valid_sample) {
      expect(subject_.round_trip(subject_.sample) == subject_.sample,
             "the sample changes on its way to a struct and back");
    }
  }

  void check_unknown_key() {
    Value value = subject_.sample;
    value.set("no_such_field_of_any_config", 1);
    expect(refusal(value) == "no_such_field_of_any_config", "an unknown key is taken");
  }

  void check_doc(const Field& field) { expect(!field.doc.empty(), field.name + ": has no doc"); }

  void check_change(const Field& field) {
    const Value* old = subject_.sample.find(field.name);
    const std::optional<Value> other = changed(field, old != nullptr ? *old : Value());
    if (!other) return;
    Value value = subject_.sample;
    value.set(field.name, *other);
    if (refusal(value)) return;  // rules across fields may forbid it
    const Value back = subject_.round_trip(value);
    expect(!(back == subject_.sample), field.name + ": a change of it gets lost");
    expect(back == value, field.name + ": changes on its way to a struct and back");
  }

  void check_required(const Field& field) {
    if (!field.required) return;
    Value value = subject_.sample;
    value.erase(field.name);
    expect(refusal(value).has_value(), field.name + ": is required, and may be left out");
  }

  void check_wrong_type(const Field& field) {
    if (field.type.form == Form::value) return;
    Value value = subject_.sample;
    const bool takes_list = field.type.form == Form::list;
    value.set(field.name, takes_list ? Value(true) : Value::array({Value::array()}));
    expect(refusal(value) == field.name, field.name + ": a value of a wrong type is taken");
  }

  void check_bounds(const Field& field) {
    const bool number = field.type.form == Form::integer || field.type.form == Form::floating;
    if (!number) return;
    for (const auto& [bound, step] : {std::pair(field.low, -1.0), std::pair(field.high, 1.0)}) {
      if (!bound) continue;
      Value value = subject_.sample;
      const double outside = *bound + step;
      value.set(field.name, field.type.form == Form::integer
                                ? Value(static_cast<std::int64_t>(outside))
                                : Value(outside));
      expect(refusal(value) == field.name, field.name + ": a value out of range is taken");
    }
  }

  const detail::ConfigSubject& subject_;
  ConfigReport report_;
};

}  // namespace

ConfigReport detail::check_config(const ConfigSubject& subject) {
  return Check(subject).run();
}

std::string ConfigReport::text() const {
  std::string text =
      std::to_string(checks) + " checks, " + std::to_string(failures.size()) + " failed\n";
  for (const std::string& failure : failures) text += "  " + failure + "\n";
  return text;
}

}  // namespace trivet::testing
