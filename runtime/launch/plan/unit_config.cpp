// SPDX-License-Identifier: Apache-2.0
#include "launch/plan/unit_config.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "config/overrides/apply_overrides.h"
#include "config/overrides/match_paths.h"
#include "config/toml/toml_writer.h"
#include "config/tree/references.h"
#include "trivet/error.h"

namespace trivet {
namespace {

using Kind = OverrideStep::Kind;
using Steps = std::vector<OverrideStep>;

// The member of [xp] that a reference names; empty for other references. Resolving the reference
// rejects an invalid path.
std::string named_xp(const std::string& target, bool& all) {
  try {
    const std::vector<PathStep> steps = split_path(target);
    if (steps.empty() || steps[0].name != "xp") return {};
    all = all || steps.size() == 1;
    return steps.size() > 1 ? steps[1].name : std::string();
  } catch (const Error&) {
    return {};
  }
}

// The members of [xp] that references name, directly or indirectly, unresolved: they may refer to
// values that units vary.
Value referred_xp(const Value& xp, std::vector<std::string> targets) {
  Value kept = Value::table();
  bool all = false;
  while (!targets.empty() && !all) {
    const std::string name = named_xp(targets.back(), all);
    targets.pop_back();
    const Value* member = name.empty() || kept.find(name) != nullptr ? nullptr : xp.find(name);
    if (member == nullptr) continue;
    kept.set(name, *member);
    for (std::string& further : reference_targets(*member)) targets.push_back(std::move(further));
  }
  return all ? xp : kept;
}

std::string text_of(Value file, const ResolvedConfig& run, std::vector<std::string> targets,
                    const std::string& header) {
  file.erase("xp");
  for (std::string& target : reference_targets(file)) targets.push_back(std::move(target));
  const Value* said = run.referring.find("xp");
  Value xp = said != nullptr ? referred_xp(*said, std::move(targets)) : Value::table();
  if (!xp.members().empty()) file.set("xp", std::move(xp));
  return write_toml(file, {.header = header});
}

std::string path_of(const std::string& word) {
  const std::size_t begin = word.starts_with('+') || word.starts_with('~') ? 1 : 0;
  return word.substr(begin, word.find('=') - begin);
}

bool is_xp(const std::string& path) {
  return path == "xp" || path.starts_with("xp.") || path.starts_with("xp[");
}

bool has_glob(const std::string& path) {
  return needs_matching(path);
}

// Empty for an invalid path.
Steps steps_of(const std::string& path) {
  try {
    return parse_override(make_override(path + "="), 1).steps;
  } catch (const ConfigError&) {
    return {};
  }
}

// Whether a step of a path matches that of a pattern.
bool fits(const OverrideStep& pattern, const OverrideStep& step) {
  if (pattern.kind == Kind::index || pattern.kind == Kind::any_index) {
    return step.kind == Kind::index &&
           (pattern.kind == Kind::any_index || pattern.index == step.index);
  }
  if (step.kind != Kind::name) return false;
  return pattern.kind == Kind::name ? pattern.name == step.name
                                    : matches_glob(pattern.name, step.name);
}

// Whether `path` from step `at` continues below a location that `part` from step `from` names.
bool leads_inside(const Steps& part, std::size_t from, const Steps& path, std::size_t at) {
  if (at >= path.size()) return false;
  if (from == part.size()) return true;
  if (part[from].kind == Kind::any_depth) {
    return leads_inside(part, from + 1, path, at) || leads_inside(part, from, path, at + 1);
  }
  return fits(part[from], path[at]) && leads_inside(part, from + 1, path, at + 1);
}

// A sweep may vary a type by its name.
bool is_inside(const std::string& path, const std::string& swept) {
  Steps part = steps_of(swept);
  if (part.size() > 1 && part.back().kind == Kind::name && part.back().name == "type") {
    part.pop_back();
  }
  return !part.empty() && leads_inside(part, 0, steps_of(path), 0);
}

}  // namespace

UnitConfig unit_config(const ResolvedLaunch& launch, const std::vector<Override>& overrides,
                       Units units, const std::vector<launch::SweepItem>& items) {
  UnitConfig config;
  if (units == Units::varied) config.words = run_overrides(overrides);
  std::vector<std::string> targets;
  const auto add = [&](const Value& value) {
    for (std::string& target : reference_targets(value)) targets.push_back(std::move(target));
  };
  for (const std::string& word : config.words) add(Value(word));
  for (const launch::SweepItem& item : items) {
    for (const auto& [path, value] : item.args) add(value);
  }
  config.text = text_of(launch.run->given, *launch.run, targets, {});
  if (config.words.empty()) return config;
  config.files_text = text_of(
      launch.run->from_files, *launch.run, targets,
      "The config of the files. Each work unit's command line has the overrides of the launch.");
  return config;
}

std::vector<std::string> run_overrides(const std::vector<Override>& overrides) {
  std::vector<std::string> words;
  for (const Override& given : overrides) {
    const std::string path = path_of(given.text);
    const bool gives_way =
        given.is_lower && std::any_of(overrides.begin(), overrides.end(), [&](const auto& other) {
          return !other.is_lower && path_of(other.text) == path;
        });
    // An empty table in --params_override changes nothing, but as a word it would replace the
    // table.
    const bool is_empty = given.value && given.value->is_table() && given.value->members().empty();
    if (is_xp(path) || gives_way || is_empty) continue;
    // A bare option is true; the word that repeats it has a value.
    const std::string text = given.is_bare ? given.text + "=true" : given.text;
    words.push_back(given.value ? path + "=" + override_value_text(*given.value) : text);
  }
  return words;
}

std::vector<std::string> said_inside(const std::vector<std::string>& words,
                                     const launch::SweepItem& item) {
  if (item.args.empty()) return {};
  const bool globs = std::any_of(item.args.begin(), item.args.end(),
                                 [](const auto& arg) { return has_glob(arg.first); }) ||
                     std::any_of(words.begin(), words.end(),
                                 [](const auto& word) { return has_glob(path_of(word)); });
  if (globs) return words;
  std::vector<std::string> inside;
  for (const std::string& word : words) {
    if (std::any_of(item.args.begin(), item.args.end(),
                    [&](const auto& arg) { return is_inside(path_of(word), arg.first); })) {
      inside.push_back(word);
    }
  }
  return inside;
}

ConfigRequest without_swept(ConfigRequest request, const std::vector<std::string>& sweeps) {
  std::erase_if(request.overrides, [&](const Override& given) {
    const std::string path = path_of(given.text);
    return std::any_of(sweeps.begin(), sweeps.end(),
                       [&](const std::string& sweep) { return is_inside(path, path_of(sweep)); });
  });
  return request;
}

std::vector<Override> item_overrides(const launch::SweepItem& item, std::size_t number) {
  std::vector<Override> overrides;
  for (const auto& [path, value] : item.args) {
    const std::string text = path + "=" + override_value_text(value);
    const std::string shown = fmt::format("item {} of the sweep: {}", number, text);
    overrides.push_back({.text = text, .shown = shown, .offset = shown.size() - text.size()});
  }
  return overrides;
}

}  // namespace trivet
