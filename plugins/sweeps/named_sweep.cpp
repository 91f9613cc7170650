// SPDX-License-Identifier: Apache-2.0
#include "named_sweep.h"

#include <algorithm>
#include <utility>

#include "dimension.h"
#include "trivet/config/schema.h"
#include "trivet/error.h"

namespace trivet::sweeps {
namespace {

using Items = std::vector<launch::SweepItem>;
constexpr const char* kUnnamed = "default";
constexpr const char* kCommandLine = "--sweep";

void set(launch::SweepItem& item, const std::string& name, const Value& value) {
  for (auto& [known, there] : item.args) {
    if (known != name) continue;
    there = value;
    return;
  }
  item.args.emplace_back(name, value);
}

// Checked before they are made, since they may not fit into memory.
void check_count(std::size_t slow, std::size_t fast, const std::string& path) {
  if (fast == 0 || slow <= launch::kMostUnits / fast) return;
  throw ConfigError(Diagnostic{.path = path,
                               .what = "the sweep makes more than 100,000 work units",
                               .hint = "sweep over fewer values, or use a search"});
}

// Every item of one with every item of the other. The first varies slowest.
Items make_product(const Items& slow, const Items& fast, const std::string& path) {
  check_count(slow.size(), fast.size(), path);
  Items all;
  for (const launch::SweepItem& first : slow) {
    for (const launch::SweepItem& second : fast) {
      launch::SweepItem& item = all.emplace_back(first);
      for (const auto& [name, value] : second.args) set(item, name, value);
    }
  }
  return all;
}

Items zip_dimensions(const std::vector<std::pair<std::string, Value::Array>>& dimensions,
                     const std::string& path) {
  if (!dimensions.empty()) check_count(1, dimensions.front().second.size(), path);
  Items items(dimensions.empty() ? 0 : dimensions.front().second.size());
  for (const auto& [name, values] : dimensions) {
    if (values.size() != items.size()) {
      throw ConfigError(Diagnostic{.path = path,
                                   .what = "zip = true needs lists of the same length: '" +
                                           dimensions.front().first + "' has " +
                                           std::to_string(items.size()) + " values, '" + name +
                                           "' has " + std::to_string(values.size())});
    }
    for (std::size_t i = 0; i < values.size(); ++i) set(items[i], name, values[i]);
  }
  return items;
}

Items parse_points(const Value& list, const std::string& path) {
  Items items;
  for (const Value& point : list.items()) {
    if (!point.is_table()) {
      throw ConfigError(
          Diagnostic{point.origin(), path, "expected a table, found " + to_toml(point), {}});
    }
    launch::SweepItem& item = items.emplace_back();
    for (const Value::Member& member : point.members()) set(item, member.key, member.value);
  }
  return items;
}

Items items_of(const Value& sweep, const std::string& path) {
  if (sweep.is_array()) return parse_points(sweep, path);
  if (!sweep.is_table()) {
    throw ConfigError(Diagnostic{sweep.origin(), path,
                                 "expected a table or a list of tables, found " + to_toml(sweep),
                                 "write [" + path + "] above \"some.path\" = [1, 2]"});
  }
  bool zip = false;
  std::vector<std::pair<std::string, Value::Array>> dimensions;
  for (const Value::Member& member : sweep.members()) {
    if (member.key == "zip" && member.value.is_boolean()) {
      zip = member.value.as_boolean();
    } else {
      dimensions.emplace_back(member.key, values_of(member.value, joined_path(path, member.key)));
    }
  }
  if (zip) return zip_dimensions(dimensions, path);
  Items items(dimensions.empty() ? 0 : 1);
  for (const auto& [name, values] : dimensions) {
    check_count(items.size(), values.size(), path);
    Items one(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) set(one[i], name, values[i]);
    items = make_product(items, one, path);
  }
  return items;
}

// `known`: the existing names. Detects a dimension without a sweep around it.
std::string names_hint(const launch::SweepContext& context, const std::string& known) {
  if (known.empty()) return "the config has no [sweep.NAME]; --sweep PATH=V1,V2 needs none";
  for (const Value::Member& member : context.sweeps.members()) {
    const bool is_points = member.value.is_array() && !member.value.items().empty() &&
                           member.value.items().front().is_table();
    if (member.value.is_table() || is_points) continue;
    return "write [sweep.default] above " + member.key + ": [sweep] holds sweeps by name";
  }
  return "there are " + known;
}

std::vector<std::string> choose_names(const launch::SweepContext& context) {
  std::vector<std::string> known;
  for (const Value::Member& member : context.sweeps.members()) known.push_back(member.key);
  std::sort(known.begin(), known.end());
  std::vector<std::string> names;
  for (const std::string& name : context.names) {
    if (name == "*") {
      // As in kxm: the unnamed sweep comes first, so that named ones override it.
      const auto first = names.insert(names.end(), known.begin(), known.end());
      std::stable_partition(first, names.end(),
                            [](const std::string& each) { return each == kUnnamed; });
    } else {
      names.push_back(name);
    }
  }
  if (context.names.empty() && !context.names_none) names.emplace_back(kUnnamed);
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    std::string list;
    for (const std::string& other : known) list += (list.empty() ? "" : ", ") + other;
    std::string what = "there is no sweep '" + name + "'";
    if (context.names.empty()) what = "there is no [sweep.default] to run";
    throw ConfigError(
        Diagnostic{.path = "xp.sweep", .what = what, .hint = names_hint(context, list)});
  }
  return names;
}

}  // namespace

std::vector<launch::SweepItem> NamedSweep::items() const {
  Items items(1);
  for (const std::string& name : choose_names(context_)) {
    const std::string path = joined_path("sweep", name);
    items = make_product(items, items_of(*context_.sweeps.find(name), path), path);
  }
  if (!context_.command_line.is_null()) {
    items = make_product(items, items_of(context_.command_line, kCommandLine), kCommandLine);
  }
  for (launch::SweepItem& item : items) item.target = target_;
  return items;
}

std::vector<std::string> NamedSweep::tags() const {
  std::vector<std::string> tags;
  for (const std::string& name : choose_names(context_)) tags.push_back("sweep:" + name);
  if (!context_.command_line.is_null()) tags.emplace_back("--sweep");
  return tags;
}

}  // namespace trivet::sweeps
