// SPDX-License-Identifier: Apache-2.0
#include "cli/view/explain_value.h"

#include <utility>
#include <vector>

#include <fmt/core.h>

#include "cli/view/field_text.h"
#include "config/toml/toml_writer.h"
#include "config/tree/typed_tree.h"
#include "trivet/error.h"
#include "trivet/text/strings.h"

namespace trivet {
namespace {

// A location on the path from the top of a config.
struct Location {
  std::string path;
  const Value* value;  // null: a field without a value
  SchemaNode node;
};

Location element_of(const Location& list, const TypedTree& tree, std::int64_t index) {
  const std::int64_t size =
      list.value != nullptr && list.value->is_array() ? std::ssize(list.value->items()) : 0;
  if (index < 0 || index >= size) {
    throw UsageError(fmt::format("'{}' has {}", list.path, count_of(size, "element")),
                     {.hint = "elements are counted from 0"});
  }
  const auto at = static_cast<std::size_t>(index);
  return {joined_path(list.path, at), &list.value->items()[at], tree.element(list.node)};
}

std::vector<std::string> names_below(const Location& location, const TypedTree& tree) {
  std::vector<std::string> names;
  if (location.value == nullptr) return names;
  if (const std::vector<Field>* fields = tree.fields(*location.value, location.node)) {
    for (const Field& field : *fields) names.push_back(joined_path(location.path, field.name));
  }
  if (!location.value->is_table()) return names;
  for (const Value::Member& member : location.value->members()) {
    names.push_back(joined_path(location.path, member.key));
  }
  return names;
}

Location member_of(const Location& table, const TypedTree& tree, const std::string& name) {
  const std::string path = joined_path(table.path, name);
  if (table.value != nullptr) {
    const SchemaNode node = tree.child(*table.value, table.node, name);
    const Value* value = table.value->find(node.field != nullptr ? node.field->name : name);
    if (value != nullptr || node.field != nullptr) return {path, value, node};
  }
  throw UsageError("the config has no '" + path + "'",
                   {.hint = suggestion(path, names_below(table, tree))});
}

std::string meaning_of(const Location& location) {
  if (location.node.field != nullptr) {
    Field alone = *location.node.field;
    alone.name = location.path;
    alone.type.fields.clear();  // the value of a table shows its fields
    return field_text(alone, 0);
  }
  if (location.node.type == nullptr) return location.path + "\n";
  return fmt::format("{}  ({})\n", location.path, to_string(*location.node.type));
}

std::string value_text(const Location& location) {
  if (location.value == nullptr || location.value->is_null()) return "  value  nothing\n";
  const Origin& origin = location.value->origin();
  const std::string from = origin.known() ? fmt::format("  from   {}\n", to_string(origin)) : "";
  if (!location.value->is_table()) {
    return fmt::format("  value  {}\n", to_toml(*location.value)) + from;
  }
  return from + "\n" + write_toml(*location.value, {.origins = true});
}

}  // namespace

std::vector<PathStep> steps_of(const std::string& path) {
  std::vector<PathStep> steps;
  try {
    steps = split_path(path);
  } catch (const Error& malformed) {
    throw UsageError(malformed.message());
  }
  if (steps.empty()) throw UsageError("the path is empty");
  return steps;
}

std::string explain_value(const std::string& path, const ResolvedConfig& config,
                          ConfigCatalog& catalog) {
  const TypedTree tree(launch_file_schema(), catalog.schemas());
  Location location{"", &config.tree, tree.root()};
  for (const PathStep& step : steps_of(path)) {
    location = step.index >= 0 ? element_of(location, tree, step.index)
                               : member_of(location, tree, step.name);
  }
  return meaning_of(location) + value_text(location);
}

}  // namespace trivet
