// SPDX-License-Identifier: Apache-2.0
#include "launch/store/launch_record.h"

#include <system_error>
#include <utility>

#include "config/overrides/override.h"
#include "config/toml/toml_writer.h"
#include "config/tree/references.h"
#include "launch/store/experiment_store.h"
#include "trivet/config/digest.h"
#include "trivet/error.h"
#include "trivet/os/file.h"

namespace trivet {
namespace {

namespace fs = std::filesystem;

}  // namespace

std::string launch_text(const ResolvedLaunch& launch, const std::string& config_name) {
  Value file = Value::table();
  if (!config_name.empty()) file.set("base", Value::array({config_name}));
  file.set("xp", launch.xp);
  escape_references(file);
  // References in a sweep are paths of the run's config.
  if (launch.sweeps.is_table()) file.set("sweep", launch.sweeps);
  return write_toml(
      file,
      {.header = "What trivet launch was given; experiment.json has its overrides and --sweep."});
}

std::vector<std::string> texts_in(const Value& facts, std::string_view key) {
  std::vector<std::string> texts;
  const Value* list = facts.is_table() ? facts.find(key) : nullptr;
  if (list == nullptr || !list->is_array()) return texts;
  for (const Value& text : list->items()) {
    if (text.is_string()) texts.push_back(text.as_string());
  }
  return texts;
}

fs::path file_for(const fs::path& directory, const std::string& stem, const std::string& text) {
  std::error_code ignored;
  fs::path first = directory / (stem + ".toml");
  if (!fs::exists(first, ignored) || read_text_file(first) == text) return first;
  return directory / (stem + "-" + digest(text).substr(0, 8) + ".toml");
}

void start_from_record(ConfigRequest& request) {
  std::vector<Override> recorded;
  for (const fs::path& file : request.files) {
    const fs::path directory = file.parent_path();
    if (file.filename() != "launch.toml" || !holds_experiment(directory)) continue;
    const Value facts = experiment_facts(directory);
    const std::string config = facts.string_or("config"), unit = facts.string_or("unit_config");
    if (config.empty() || unit.empty()) continue;
    request.texts[(directory / config).lexically_normal()] = read_text_file(directory / unit);
    for (const std::string& word : texts_in(facts, "overrides")) {
      recorded.push_back({.text = word, .shown = "--set=" + word, .offset = 6, .is_lower = true});
    }
  }
  request.overrides.insert(request.overrides.begin(), recorded.begin(), recorded.end());
}

ResolvedLaunch resolve_record(const fs::path& file, ConfigCatalog& catalog) {
  try {
    return resolve_launch({.files = {file}}, catalog);
  } catch (const ConfigError& error) {
    Diagnostics diagnostics;
    for (Diagnostic problem : error.diagnostics()) {
      if (!problem.hint.empty()) problem.hint += "; ";
      problem.hint += "a plugin may be missing: set --plugin-dir to its folder";
      diagnostics.add(std::move(problem));
    }
    throw ConfigError(diagnostics.list());
  }
}

}  // namespace trivet
