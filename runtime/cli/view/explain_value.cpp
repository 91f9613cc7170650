// SPDX-License-Identifier: Apache-2.0
#include "cli/view/explain_value.h"

#include <fmt/core.h>

#include <utility>
#include <vector>

#include "cli/view/field_text.h"
#include "config/toml/toml_writer.h"
#include "config/tree/typed_tree.h"
#include "trivet/error.h"

namespace trivet {
namespace {

// A place on the way down from the top of a config.
struct Place {
  std::string path;
  const Value* value;  // null: a field that holds nothing
  SchemaNode node;
};

Place element_of(const Place& list, const TypedTree& tree, std::int64_t index) {
  const std::size_t size =
      list.value != nullptr && list.value->is_array() ? list.value->items().size() : 0;
  if (!std::cmp_less(index, size)) {
    throw UsageError(
        fmt::format("'{}' has {} {}", list.path, size, size == 1 ? "element" : "elements"),
        {.hint = "they are counted from 0"});
  }
  const auto at = static_cast<std::size_t>(index);
  return {joined_path(list.path, at), &list.value->items()[at], tree.element(list.node)};
}

std::vector<std::string> names_below(const Place& place, const TypedTree& tree) {
  std::vector<std::string> names;
  if (place.value == nullptr) return names;
  if (const std::vector<Field>* fields = tree.fields(*place.value, place.node)) {
    for (const Field& field : *fields) names.push_back(joined_path(place.path, field.name));
  }
  if (!place.value->is_table()) return names;
  for (const Value::Member& member : place.value->members()) {
    names.push_back(joined_path(place.path, member.key));
  }
  return names;
}

Place member_of(const Place& table, const TypedTree& tree, const std::string& name) {
  const std::string path = joined_path(table.path, name);
  if (table.value != nullptr) {
    const SchemaNode node = tree.child(*table.value, table.node, name);
    const Value* value = table.value->find(node.field != nullptr ? node.field->name : name);
    if (value != nullptr || node.field != nullptr) return {path, value, node};
  }
  throw UsageError("the config has no '" + path + "'",
                   {.hint = suggestion(path, names_below(table, tree))});
}

std::string meaning_of(const Place& place) {
  if (place.node.field != nullptr) {
    Field alone = *place.node.field;
    alone.name = place.path;
    alone.type.fields.clear();  // what a table holds is shown as its value
    return field_text(alone, 0);
  }
  if (place.node.type == nullptr) return place.path + "\n";
  return fmt::format("{}  ({})\n", place.path, to_string(*place.node.type));
}

std::string value_text(const Place& place) {
  if (place.value == nullptr || place.value->is_null()) return "  value  nothing\n";
  const Origin& origin = place.value->origin();
  const std::string from = origin.known() ? fmt::format("  from   {}\n", to_string(origin)) : "";
  if (!place.value->is_table()) return fmt::format("  value  {}\n", to_toml(*place.value)) + from;
  return from + "\n" + write_toml(*place.value, {.origins = true});
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
  Place place{"", &config.tree, tree.root()};
  for (const PathStep& step : steps_of(path)) {
    place =
        step.index >= 0 ? element_of(place, tree, step.index) : member_of(place, tree, step.name);
  }
  return meaning_of(place) + value_text(place);
}

}  // namespace trivet
