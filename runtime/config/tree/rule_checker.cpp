// SPDX-License-Identifier: Apache-2.0
#include "config/tree/rule_checker.h"

#include <utility>

#include "trivet/config/config_of.h"
#include "trivet/error.h"

namespace trivet {

void RuleChecker::visit(const Value& value, const SchemaNode& node, const std::string& path) {
  if (node.type == nullptr) return;
  if (value.is_array()) {
    std::size_t index = 0;
    for (const Value& item : value.items()) {
      visit(item, tree_.element(node), joined_path(path, index++));
    }
  }
  if (!value.is_table()) return;
  const Value* type = value.find("type");
  if (node.is_config() && type != nullptr && type->is_string()) {
    check_table(value, node.type->kind, type->as_string(), path);
  }
  for (const Value::Member& member : value.members()) {
    visit(member.value, tree_.child(value, node, member.key), joined_path(path, member.key));
  }
}

void RuleChecker::check_table(const Value& table, const std::string& kind, const std::string& key,
                              const std::string& path) {
  if (tree_.schema(kind, key) == nullptr) return;  // reported by validate()
  Value typed = table;
  typed.set("type", key);
  try {
    catalog_.check_rules(kind, ConfigValue::from_value(typed, kind, path), diagnostics_);
  } catch (const PluginError&) {
    if (refused_ == nullptr) refused_ = std::current_exception();
  }
}

void RuleChecker::check_restrictions(const Value& experiments, const std::string& path,
                                     const Value& whole) {
  if (!experiments.is_array()) return;  // reported by validate(), like keys that are not strings
  std::size_t index = 0;
  for (const Value& key : experiments.items()) {
    const std::string here = joined_path(path, index++);
    if (!key.is_string()) continue;
    try {
      catalog_.check_experiment(key.as_string(), whole, diagnostics_);
    } catch (const ConfigError& refusal) {
      for (const Diagnostic& problem : refusal.diagnostics()) {
        add_missing(problem, key.origin(), here);
      }
    } catch (PluginError& error) {
      error.amend({.where = key.origin(), .path = here});
      if (refused_ == nullptr) refused_ = std::current_exception();
    }
  }
}

void RuleChecker::add_missing(Diagnostic problem, const Origin& where, const std::string& path) {
  if (problem.path.empty()) {
    problem.where = where;
    problem.path = path;
    problem.hint = "install its plugin, or remove it to skip its rules; " + problem.hint;
  }
  diagnostics_.add(std::move(problem));
}

}  // namespace trivet
