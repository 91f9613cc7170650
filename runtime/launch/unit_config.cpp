// SPDX-License-Identifier: Apache-2.0
#include "launch/unit_config.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "config/references.h"
#include "config/toml_writer.h"
#include "trivet/error.h"

namespace trivet {
namespace {

// The members of [xp] that references in `config` lead to, resolved.
Value referred_xp(const Value& config, const Value& xp) {
  Value kept = Value::table();
  for (const std::string& target : reference_targets(config)) {
    const std::vector<PathStep> steps = split_path(target);
    if (steps.empty() || steps[0].name != "xp") continue;
    if (steps.size() == 1) return xp;
    if (const Value* member = xp.find(steps[1].name)) kept.set(steps[1].name, *member);
  }
  return kept;
}

std::string path_of(const std::string& word) {
  const std::size_t begin = word.starts_with('+') || word.starts_with('~') ? 1 : 0;
  return word.substr(begin, word.find('=') - begin);
}

bool is_xp(const std::string& path) {
  return path == "xp" || path.starts_with("xp.") || path.starts_with("xp[");
}

bool has_glob(const std::string& path) {
  return path.find('*') != std::string::npos;
}

// A type may be swept by its own name.
bool is_inside(const std::string& path, std::string part) {
  constexpr std::string_view kType = ".type";
  if (part.ends_with(kType)) part.resize(part.size() - kType.size());
  return path.size() > part.size() && path.starts_with(part) &&
         (path[part.size()] == '.' || path[part.size()] == '[');
}

}  // namespace

std::string unit_config_text(const ResolvedLaunch& launch) {
  Value file = launch.run->given;
  file.erase("xp");
  Value xp = referred_xp(file, launch.xp);
  if (!xp.members().empty()) {
    escape_references(xp);
    file.set("xp", std::move(xp));
  }
  return write_toml(file);
}

std::vector<std::string> run_overrides(const std::vector<Override>& overrides) {
  std::vector<std::string> words;
  for (const Override& given : overrides) {
    const std::string path = path_of(given.text);
    const bool gives_way =
        given.is_lower && std::any_of(overrides.begin(), overrides.end(), [&](const auto& other) {
          return !other.is_lower && path_of(other.text) == path;
        });
    if (is_xp(path) || gives_way) continue;
    // A bare option is true; the word that says it again is none.
    const std::string text = given.is_bare ? given.text + "=true" : given.text;
    words.push_back(given.value ? path + "=" + override_value_text(*given.value) : text);
  }
  return words;
}

std::vector<std::string> said_again(const std::vector<std::string>& overrides,
                                    const SweepItem& item) {
  const auto swept_globs = std::any_of(item.args.begin(), item.args.end(),
                                       [](const auto& arg) { return has_glob(arg.first); });
  const bool globs =
      swept_globs || std::any_of(overrides.begin(), overrides.end(),
                                 [](const auto& word) { return has_glob(path_of(word)); });
  std::vector<std::string> words;
  for (const std::string& word : overrides) {
    const std::string path = path_of(word);
    const bool inside =
        globs || std::any_of(item.args.begin(), item.args.end(),
                             [&](const auto& arg) { return is_inside(path, arg.first); });
    // What was taken out of the file stays out.
    if (inside && !item.args.empty() && !word.starts_with('~')) words.push_back(word);
  }
  return words;
}

ConfigRequest without_swept(ConfigRequest request, const std::vector<std::string>& sweeps) {
  std::erase_if(request.overrides, [&](const Override& given) {
    const std::string path = path_of(given.text);
    const bool removes = given.text.starts_with('~');
    return !removes && std::any_of(sweeps.begin(), sweeps.end(), [&](const std::string& sweep) {
      return is_inside(path, path_of(sweep));
    });
  });
  return request;
}

std::vector<Override> item_overrides(const SweepItem& item, std::size_t number) {
  std::vector<Override> overrides;
  for (const auto& [path, value] : item.args) {
    const std::string text = path + "=" + override_value_text(value);
    const std::string shown = fmt::format("item {} of the sweep: {}", number, text);
    overrides.push_back({.text = text, .shown = shown, .offset = shown.size() - text.size()});
  }
  return overrides;
}

}  // namespace trivet
