// SPDX-License-Identifier: Apache-2.0
#include "cli/host_catalog.h"

#include <algorithm>
#include <set>

#include "builtin/builtin_plugin.h"
#include "trivet/plugin/registry.h"

namespace trivet {
namespace {

constexpr std::string_view kExperiment = "experiment";

ConfigError make_error(std::string what, std::string hint) {
  return ConfigError(
      Diagnostic{.path = "experiment", .what = std::move(what), .hint = std::move(hint)});
}

}  // namespace

HostCatalog::HostCatalog(const std::vector<std::string>& plugin_dirs, UnknownDefaults unknown)
    : host_(plugin_search_path(plugin_dirs)), lookup_(host_, unknown) {
  for (const SearchDirectory& directory : host_.directories()) {
    // A folder named by --plugin-dir must exist; falling back to the others would hide the mistake.
    if (directory.source != "--plugin-dir" || directory.exists) continue;
    throw UsageError("--plugin-dir " + directory.path.string() + ": " + directory.error);
  }
  register_builtin_plugin();
  registry().set_loader(&host_);
}

HostCatalog::~HostCatalog() {
  registry().set_loader(nullptr);
}

std::vector<std::string> HostCatalog::keys(std::string_view kind) {
  const std::vector<std::string> offered = host_.keys(kind);
  std::set<std::string> keys(offered.begin(), offered.end());
  for (const RegistryItem* item : registry().items(kind)) keys.insert(item->key);
  if (kind == kExperiment) {
    for (const ExperimentFile& file : experiment_files()) keys.insert(file.key);
  }
  return {keys.begin(), keys.end()};
}

std::vector<std::string> HostCatalog::kinds_of(std::string_view key) {
  std::set<std::string> kinds;
  for (const PluginFile& file : host_.files()) {
    if (file.state != PluginState::available && file.state != PluginState::loaded) continue;
    for (const ManifestItem& item : file.manifest->items) {
      if (key.empty() || item.key == key) kinds.insert(item.kind);
    }
  }
  for (const RegistryItem* item : registry().items()) {
    if (key.empty() || item->key == key) kinds.insert(item->kind);
  }
  return {kinds.begin(), kinds.end()};
}

void HostCatalog::check_rules(std::string_view kind, const ConfigValue& config,
                              Diagnostics& diagnostics) {
  registry().check(kind, config, diagnostics);
}

const std::vector<ExperimentFile>& HostCatalog::experiment_files() {
  if (!files_) files_ = trivet::experiment_files(host_);
  return *files_;
}

ConfigCatalog::Experiment HostCatalog::experiment(const std::string& key) {
  const ExperimentFile* file = nullptr;
  for (const ExperimentFile& found : experiment_files()) {
    if (found.key == key) file = &found;
  }
  const std::string library = library_of(key);
  if (file != nullptr && !library.empty()) {
    throw make_error("two experiments are named '" + key + "': " + library +
                         " registers one, and " + file->path.string() + " is the other",
                     "rename or remove the file");
  }
  if (file != nullptr && !file->error.empty()) {
    throw make_error(file->path.string() + " cannot be used: " + file->error, {});
  }
  if (file != nullptr) return {.file = file->path};
  const std::string plugin(plugin_of(key));
  if (library.empty() && host_.refusal(plugin).empty()) {
    throw make_error("unknown experiment '" + key + "'", suggestion(key, keys(kExperiment)));
  }
  return {.config = registry().experiment(key),
          .restricted = registry().get(kExperiment, key).check != nullptr};
}

std::string HostCatalog::library_of(const std::string& key) const {
  for (const PluginFile& file : host_.files()) {
    if (file.state != PluginState::available && file.state != PluginState::loaded) continue;
    if (file.manifest->find(kExperiment, key) != nullptr) return file.path.string();
  }
  return {};
}

void HostCatalog::check_experiment(const std::string& key, const Value& config,
                                   Diagnostics& diagnostics) {
  registry().check_experiment(key, config, diagnostics);
}

}  // namespace trivet
