// SPDX-License-Identifier: Apache-2.0
#include "cli/host_catalog.h"

#include <algorithm>
#include <set>

#include "train/builtin.h"
#include "trivet/registry.h"

namespace trivet {

HostCatalog::HostCatalog(const std::vector<std::string>& plugin_dirs)
    : host_(plugin_search_path(plugin_dirs)), lookup_(host_) {
  register_builtin_plugin();
  registry().set_resolver(&host_);
}

HostCatalog::~HostCatalog() {
  registry().set_resolver(nullptr);
}

std::vector<std::string> HostCatalog::keys(std::string_view kind) {
  const std::vector<std::string> offered = host_.keys(kind);
  std::set<std::string> keys(offered.begin(), offered.end());
  for (const RegistryItem* item : registry().items(kind)) keys.insert(item->key);
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
                              Problems& problems) {
  registry().check(kind, config, problems);
}

Value HostCatalog::experiment(const std::string& key) {
  return registry().experiment(key);
}

}  // namespace trivet
