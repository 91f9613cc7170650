// SPDX-License-Identifier: Apache-2.0
#include "launch/sweep_items.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include <fmt/core.h>

#include "config/override_effects.h"
#include "config/run_rules.h"
#include "config/toml_reader.h"
#include "launch/unit_config.h"
#include "trivet/json.h"
#include "trivet/registry.h"

namespace trivet {
namespace {

constexpr std::size_t kMostSweepProblems = 20;

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t end = text.find(separator); end != std::string::npos;
       end = text.find(separator, begin)) {
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  parts.push_back(text.substr(begin));
  return parts;
}

// What xp.sweep says; nothing when it says nothing.
struct SweepChoice {
  bool on = false;
  std::vector<std::string> names;
};
std::optional<SweepChoice> choice(const Value& sweep) {
  if (sweep.is_null()) return std::nullopt;
  if (sweep.is_boolean()) return SweepChoice{sweep.as_boolean(), {}};
  if (sweep.is_array()) {
    SweepChoice chosen{true, {}};
    for (const Value& name : sweep.items()) chosen.names.push_back(name.as_text());
    return chosen;
  }
  const std::string& text = sweep.as_text();
  if (text == "True" || text == "true") return SweepChoice{true, {}};
  if (text == "False" || text == "false") return SweepChoice{false, {}};
  return SweepChoice{true, split(text, ',')};
}

// Where lists and quotes are closed.
std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  char quote = 0;
  for (const char c : text) {
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '[' || c == '{' || c == '(') {
      ++depth;
    } else if (c == ']' || c == '}' || c == ')') {
      --depth;
    }
    if (c == ',' && depth == 0 && quote == 0) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

Value toml_or_text(const std::string& text) {
  try {
    return read_toml_value(text);
  } catch (const ConfigError&) {
    return text;
  }
}

// "range(1, 5)" as {range = [1, 5]}; null for other text.
Value function_value(const std::string& text) {
  for (const std::string_view name : {"range", "linspace", "logspace"}) {
    if (!text.starts_with(std::string(name) + "(") || !text.ends_with(")")) continue;
    const std::string inside = text.substr(name.size() + 1, text.size() - name.size() - 2);
    return Value::table({{name, toml_or_text("[" + inside + "]")}});
  }
  return {};
}

Value dimension(const std::string& text) {
  if (Value function = function_value(text); !function.is_null()) return function;
  Value values = Value::array();
  for (const std::string& part : split_at_commas(text)) values.push_back(toml_or_text(part));
  return values;
}

// The dimensions of --sweep as one named sweep.
Value command_line_sweep(const std::vector<std::string>& further) {
  Value table = Value::table();
  for (const std::string& text : further) {
    const std::size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos) {
      throw UsageError("--sweep " + text + " does not say what is swept",
                       {.hint = "write --sweep PATH=V1,V2"});
    }
    const std::string path = text.substr(0, equals);
    if (table.find(path) != nullptr) throw UsageError("--sweep names '" + path + "' twice");
    table.set(path, dimension(text.substr(equals + 1)));
  }
  return table;
}

}  // namespace

SweepItems sweep_items(const ResolvedLaunch& launch, const std::vector<std::string>& further) {
  const std::optional<SweepChoice> chosen = choice(launch.experiment.sweep);
  const bool asked = (chosen && chosen->on) || !further.empty();
  const Value* at = launch.xp.find("sweep");
  const Origin where = at != nullptr ? at->origin() : Origin();
  SweepItems nothing{{SweepItem()}, false, {}};
  if (!launch.experiment.sweep_info.has_value()) {
    if (!asked) return nothing;
    throw ConfigError(Problem{where, "xp.sweep", "there is no sweep to run",
                              "set xp.sweep_info: sweeps/TrainerSweep varies the run's config, "
                              "sweeps/ConfigSweep arguments of programs"});
  }
  SweepContext context;
  if (launch.run) context.config = launch.run->tree;
  context.sweeps = launch.sweeps.is_table() ? launch.sweeps : Value::table();
  if (chosen && chosen->on) context.names = chosen->names;
  if (!further.empty()) {
    context.command_line = command_line_sweep(further);
    context.names_none = !chosen || !chosen->on;
  }
  const std::unique_ptr<SweepInfo> sweep = make(launch.experiment.sweep_info, context);
  if (!further.empty() && !sweep->needs_names()) {
    throw ConfigError(Problem{where, "xp.sweep_info",
                              "this sweep is given in full and takes no --sweep",
                              "leave --sweep out, or take sweeps/TrainerSweep"});
  }
  const bool off = chosen && !chosen->on && further.empty();
  if (off || (sweep->needs_names() && !asked)) return nothing;
  SweepItems found{sweep->items(), sweep->sweeps_config(), sweep->tags()};
  if (found.items.empty()) {
    throw ConfigError(Problem{where, "xp.sweep", "the sweep has no items",
                              "an empty list of values makes a sweep of nothing"});
  }
  if (found.items.size() > kMostUnits) {
    throw ConfigError(Problem{
        where, "xp.sweep",
        fmt::format("the sweep makes {} work units, more than {}", found.items.size(), kMostUnits),
        "launch several experiments"});
  }
  if (found.sweeps_config && !launch.run) {
    throw ConfigError(Problem{where, "xp.sweep_info",
                              "the sweep varies a run's config, and there is none",
                              "name one: --cfg=FILE"});
  }
  if (found.sweeps_config) refuse_conflicts(launch, found.items);
  return found;
}

void refuse_conflicts(const ResolvedLaunch& launch, const std::vector<SweepItem>& items) {
  if (!launch.run) return;
  Problems problems;
  std::set<std::string> seen;
  for (const SweepItem& item : items) {
    for (const auto& entry : item.args) {
      const std::string& name = entry.first;
      if (name.find('*') != std::string::npos || !seen.insert(name).second) continue;
      const Value* set = launch.run->tree.find_path(name);
      if (set == nullptr || set->origin().file != kCommandLine) continue;
      problems.add({set->origin(), name, "this is both swept and set", "leave one of them out"});
    }
  }
  problems.throw_if_any();
}

namespace {

// What directories and listings say of a unit must be what it runs with. A reference or a glob says
// nothing of its own.
void compare(const SweepItem& item, std::size_t number, const Value& config, const TypedTree& tree,
             Problems& problems) {
  for (const auto& [path, value] : item.args) {
    const std::string text = override_value_text(value);
    if (path.find('*') != std::string::npos || text.find("${") != std::string::npos) continue;
    if (says(config, tree, path, value)) continue;
    const Value* found = config.find_path(path);
    problems.add({value.origin(), path,
                  fmt::format("item {} of the sweep says {}, and its config has {}", number,
                              to_toml(value), found != nullptr ? to_toml(*found) : "nothing there"),
                  "write the value as the config holds it"});
  }
}

}  // namespace

void check_items(const SweepItems& sweep, const ConfigRequest& request, ConfigCatalog& catalog) {
  if (!sweep.sweeps_config) return;
  Problems problems;
  const TypedTree tree(config_file_schema(), catalog.schemas());
  for (std::size_t i = 0; i < sweep.items.size(); ++i) {
    ConfigRequest unit = request;
    for (Override& given : item_overrides(sweep.items[i], i + 1)) {
      unit.overrides.push_back(std::move(given));
    }
    try {
      const ResolvedLaunch resolved = resolve_launch(unit, catalog);
      if (!resolved.run) continue;
      compare(sweep.items[i], i + 1, resolved.run->tree, tree, problems);
      check_run(*resolved.run);
    } catch (const ConfigError& error) {
      for (const Problem& problem : error.problems()) problems.add(problem);
    }
    if (problems.list().size() > kMostSweepProblems) break;
  }
  problems.throw_if_any();
}

}  // namespace trivet
