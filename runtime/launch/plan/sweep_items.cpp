// SPDX-License-Identifier: Apache-2.0
#include "launch/plan/sweep_items.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include <fmt/core.h>

#include "config/overrides/override.h"
#include "config/overrides/params_override.h"
#include "config/toml/toml_reader.h"
#include "trivet/config/json.h"
#include "trivet/plugin/registry.h"
#include "trivet/text/strings.h"

namespace trivet {
namespace {

// The value of xp.sweep; nothing if unset.
struct SweepChoice {
  bool on = false;
  std::vector<std::string> names;
};
std::optional<SweepChoice> parse_choice(const Value& sweep) {
  if (sweep.is_null()) return std::nullopt;
  if (sweep.is_boolean()) return SweepChoice{sweep.as_boolean(), {}};
  if (sweep.is_array()) {
    SweepChoice chosen{true, {}};
    for (const Value& name : sweep.items()) chosen.names.push_back(name.as_string());
    return chosen;
  }
  const std::string& text = sweep.as_string();
  if (text == "True" || text == "true") return SweepChoice{true, {}};
  if (text == "False" || text == "false") return SweepChoice{false, {}};
  const std::vector<std::string_view> names = split(text, ',');
  return SweepChoice{true, {names.begin(), names.end()}};
}

bool is_blank(const std::string& text) {
  return text.find_first_not_of(' ') == std::string::npos;
}

// The commas outside lists and quotes. A quote opens at the start of a value or inside a list:
// "it's" is a word. False if something is not closed.
bool split_at_commas(const std::string& text, std::vector<std::string>& parts) {
  parts.assign(1, {});
  int depth = 0;
  char quote = 0;
  for (const char c : text) {
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if ((c == '"' || c == '\'') && (depth > 0 || is_blank(parts.back()))) {
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
  return quote == 0 && depth == 0;
}

Value toml_or_text(const std::string& text) {
  const std::string number = toml_number(text);
  return try_read_toml_value(number.empty() ? text : number).value_or(text);
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

Value dimension(const std::string& text, const std::string& option) {
  if (Value function = function_value(text); !function.is_null()) return function;
  Value values = Value::array();
  std::vector<std::string> parts;
  if (!split_at_commas(text, parts)) {
    throw UsageError(
        "--sweep " + option + " has a quote or bracket that is not closed",
        {.hint = "enclose a text that contains a quote in the other kind of quotes: \"it's\""});
  }
  for (const std::string& part : parts) {
    if (is_blank(part)) {
      throw UsageError("--sweep " + option + " has an empty value",
                       {.hint = "remove a comma, or write \"\" for an empty string"});
    }
    values.push_back(toml_or_text(part));
  }
  return values;
}

// The dimensions of --sweep as one named sweep.
Value command_line_sweep(const std::vector<std::string>& further) {
  Value table = Value::table();
  for (const std::string& text : further) {
    const std::size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos) {
      throw UsageError("--sweep " + text + " has no PATH=", {.hint = "write --sweep PATH=V1,V2"});
    }
    const std::string path = text.substr(0, equals);
    if (table.find(path) != nullptr) throw UsageError("--sweep names '" + path + "' twice");
    table.set(path, dimension(text.substr(equals + 1), text));
  }
  return table;
}

}  // namespace

bool vary_config(const std::vector<launch::SweepItem>& items) {
  return std::any_of(items.begin(), items.end(), [](const launch::SweepItem& item) {
    return item.target == launch::SweepTarget::config && !item.args.empty();
  });
}

SweepItems sweep_items(const ResolvedLaunch& launch, const std::vector<RequestedSweep>& requested) {
  SweepItems all;
  for (const RequestedSweep& each : requested) {
    SweepItems found = sweep_items(launch, each);
    std::erase_if(found.items, [&](const launch::SweepItem& item) {
      return std::any_of(all.items.begin(), all.items.end(),
                         [&](const auto& known) { return known.args == item.args; });
    });
    std::move(found.items.begin(), found.items.end(), std::back_inserter(all.items));
    for (std::string& tag : found.tags) {
      if (std::ranges::find(all.tags, tag) == all.tags.end()) all.tags.push_back(std::move(tag));
    }
  }
  return all;
}

SweepItems sweep_items(const ResolvedLaunch& launch, const RequestedSweep& requested) {
  const std::vector<std::string>& further = requested.options;
  const std::optional<SweepChoice> chosen = parse_choice(requested.choice);
  const bool asked = (chosen && chosen->on) || !further.empty();
  const Value* at = launch.xp.find("sweep");
  const Origin where = at != nullptr ? at->origin() : Origin();
  SweepItems nothing{{launch::SweepItem()}, {}};
  if (!launch.experiment.sweep_info.has_value()) {
    if (!asked) return nothing;
    throw ConfigError(Diagnostic{where, "xp.sweep", "no sweep is configured",
                                 "set xp.sweep_info: sweeps/TrainerSweep varies the run's config, "
                                 "sweeps/ConfigSweep arguments of programs"});
  }
  launch::SweepContext context;
  if (launch.run) context.config = launch.run->tree;
  context.sweeps = launch.sweeps.is_table() ? launch.sweeps : Value::table();
  if (chosen && chosen->on) context.names = chosen->names;
  if (!further.empty()) {
    context.command_line = command_line_sweep(further);
    context.names_none = !chosen || !chosen->on;
  }
  const std::unique_ptr<launch::SweepInfo> sweep = make(launch.experiment.sweep_info, context);
  if (!further.empty() && !sweep->needs_names()) {
    throw ConfigError(Diagnostic{where, "xp.sweep_info",
                                 "this sweep is given in full and takes no --sweep",
                                 "remove --sweep, or use sweeps/TrainerSweep"});
  }
  const bool off = chosen && !chosen->on && further.empty();
  if (off || (sweep->needs_names() && !asked)) return nothing;
  SweepItems found{sweep->items(), sweep->tags()};
  if (found.items.empty()) {
    throw ConfigError(Diagnostic{where, "xp.sweep", "the sweep has no items",
                                 "an empty list of values gives an empty sweep"});
  }
  if (found.items.size() > launch::kMostUnits) {
    throw ConfigError(Diagnostic{where, "xp.sweep",
                                 fmt::format("the sweep makes {} work units, more than {}",
                                             found.items.size(), launch::kMostUnits),
                                 "launch several experiments"});
  }
  if (vary_config(found.items) && !launch.run) {
    throw ConfigError(Diagnostic{where, "xp.sweep_info",
                                 "the sweep varies a run's config, but no config is given",
                                 "name one: --cfg=FILE"});
  }
  refuse_conflicts(launch, found.items);
  return found;
}

void refuse_conflicts(const ResolvedLaunch& launch, const std::vector<launch::SweepItem>& items) {
  if (!launch.run) return;
  Diagnostics diagnostics;
  std::set<std::string> seen;
  for (const launch::SweepItem& item : items) {
    if (item.target != launch::SweepTarget::config) continue;
    for (const auto& entry : item.args) {
      const std::string& name = entry.first;
      if (needs_matching(name) || !seen.insert(name).second) continue;
      const Value* set = launch.run->tree.find_path(name);
      if (set == nullptr || set->origin().file != kCommandLine) continue;
      diagnostics.add(
          {set->origin(), name, "the field is both swept and set", "remove one of them"});
    }
  }
  diagnostics.throw_if_any();
}

}  // namespace trivet
