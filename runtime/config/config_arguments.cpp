// SPDX-License-Identifier: Apache-2.0
#include "config/config_arguments.h"

#include <filesystem>
#include <system_error>

#include "config/overrides/params_override.h"
#include "trivet/error.h"

namespace trivet {
namespace {

constexpr std::string_view kCfg = "--cfg.";
constexpr std::string_view kXp = "--xp.";

bool is_dotted_option(const std::string& word) {
  return word.starts_with(kCfg) || word.starts_with(kXp);
}

// "--xp.note text" is ambiguous: the next word may be the value or another argument. An option that
// took it would hide the mistake.
void refuse_loose_value(const std::string& option, std::span<const std::string> rest) {
  if (rest.empty() || rest[0].starts_with('-') || rest[0].find('=') != std::string::npos) return;
  std::error_code ignored;
  if (std::filesystem::exists(rest[0], ignored)) return;
  throw UsageError("'" + option + " " + rest[0] + "': put the value of this option after '='",
                   {.hint = "write " + option + "=" + rest[0]});
}

// --cfg.a.b=v becomes --set=--cfg.a.b=v: one option for the reader, the text as the user wrote it
// for messages.
std::vector<std::string> without_dotted_options(std::span<const std::string> words) {
  std::vector<std::string> plain;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--") {
      plain.insert(plain.end(), words.begin() + static_cast<std::ptrdiff_t>(i), words.end());
      break;
    }
    std::string word = words[i];
    if (is_dotted_option(word)) {
      if (word.find('=') == std::string::npos) refuse_loose_value(word, words.subspan(i + 1));
      word = "--set=" + word;
    }
    plain.push_back(std::move(word));
  }
  return plain;
}

enum class GivenAs { option, argument };

Override override_of(const std::string& text, GivenAs how) {
  if (how == GivenAs::argument) return make_override(text);
  if (is_dotted_option(text)) {
    const std::size_t offset = text.starts_with(kCfg) ? kCfg.size() : 2;
    const bool is_bare = text.find('=') == std::string::npos;
    return {.text = text.substr(offset), .shown = text, .offset = offset, .is_bare = is_bare};
  }
  return {.text = text, .shown = "--set " + text, .offset = 6};
}

// Overrides all files; single overrides override it.
void add_params_override(ParamsOverride params, ConfigRequest& request) {
  if (!params.file.empty()) request.files.push_back(std::move(params.file));
  request.overrides.insert(request.overrides.begin(), params.overrides.begin(),
                           params.overrides.end());
}

bool looks_like_override(const std::string& text) {
  if (text.starts_with('+') || text.starts_with('~')) return true;
  if (text.find('=') == std::string::npos) return false;
  std::error_code ignored;
  return !std::filesystem::exists(text, ignored);
}

}  // namespace

ConfigArguments parse_config_arguments(std::span<const std::string> words,
                                       std::span<const OptionSpec> options, ConfigNeed need) {
  ConfigArguments parsed{parse_arguments(without_dotted_options(words), options), {}, {}, {}};
  bool first = true;
  if (const std::string* file = parsed.arguments.last("cfg")) {
    parsed.request.files.emplace_back(*file);
    parsed.source = *file;
    first = false;
  }
  for (const Arguments::Given& given : parsed.arguments.given()) {
    if (given.name == "set") {
      parsed.request.overrides.push_back(override_of(given.value, GivenAs::option));
    }
    if (given.name == "experiment") parsed.request.experiment = given.value;
    if (given.name == "plugin-dir") parsed.plugin_dirs.push_back(given.value);
    if (!given.name.empty()) continue;
    if (first && !looks_like_override(given.value)) {
      parsed.request.files.emplace_back(given.value);
      parsed.source = given.value;
    } else if (given.value.ends_with(".toml") && !looks_like_override(given.value)) {
      throw UsageError("only one config file is allowed; unexpected '" + given.value + "'",
                       {.hint = "--config_file " + given.value + " merges it over the first"});
    } else {
      parsed.request.overrides.push_back(override_of(given.value, GivenAs::argument));
    }
    first = false;
  }
  for (const std::string& file : parsed.arguments.all("config_file")) {
    parsed.request.files.emplace_back(file);
    if (parsed.source.empty()) parsed.source = file;
  }
  if (const std::string* text = parsed.arguments.last("params_override")) {
    add_params_override(parse_params_override(*text), parsed.request);
  }
  if (parsed.source.empty()) parsed.source = parsed.request.experiment;
  if (parsed.source.empty() && need == ConfigNeed::required) {
    throw UsageError("a config file is missing",
                     {.hint = "name one before the overrides, or --experiment KEY"});
  }
  return parsed;
}

void add_override(ConfigArguments& arguments, const std::string& option, const std::string& path) {
  const std::string* value = arguments.arguments.last(option);
  if (value == nullptr) return;
  const std::string text = path + "=" + *value;
  const std::string shown = "--" + option + "=" + *value;
  const std::size_t offset = shown.size() - text.size();
  arguments.request.overrides.push_back({.text = text, .shown = shown, .offset = offset});
}

}  // namespace trivet
