// SPDX-License-Identifier: Apache-2.0
#include "launch/plan/job_arguments.h"

#include <algorithm>
#include <cmath>

#include "trivet/config/json.h"

namespace trivet {

void set_argument(std::vector<Argument>& arguments, const std::string& name, Value value) {
  const auto found = std::find_if(arguments.begin(), arguments.end(),
                                  [&](const Argument& argument) { return argument.name == name; });
  if (found == arguments.end()) {
    arguments.push_back({name, std::move(value)});
  } else {
    found->value = std::move(value);
  }
}

std::vector<Argument> arguments_of(const Value& args) {
  std::vector<Argument> arguments;
  const auto add_table = [&](const Value& table) {
    for (const Value::Member& member : table.members()) {
      set_argument(arguments, member.key, member.value);
    }
  };
  if (args.is_table()) add_table(args);
  if (!args.is_array()) return arguments;
  for (const Value& item : args.items()) {
    if (item.is_table()) {
      add_table(item);
    } else {
      arguments.push_back({{}, item});
    }
  }
  return arguments;
}

std::string value_text(const Value& value, ValueText language) {
  if (value.is_string()) return value.as_string();
  if (language == ValueText::json && value.is_float() && !std::isfinite(value.as_float())) {
    // The spelling of Python's json module.
    if (std::isnan(value.as_float())) return "NaN";
    return value.as_float() < 0 ? "-Infinity" : "Infinity";
  }
  return language == ValueText::toml ? to_toml(value) : to_json(value, JsonStyle::spaced);
}

std::string argument_text(const Argument& argument, ValueText language) {
  const std::string text = value_text(argument.value, language);
  return argument.name.empty() ? text : "--" + argument.name + "=" + text;
}

}  // namespace trivet
