// SPDX-License-Identifier: Apache-2.0
// The plugins and their schemas for config resolution and the commands. Plugins are found by
// --plugin-dir and in the usual locations.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/tree/config_catalog.h"
#include "host/experiment_files.h"
#include "host/host_lookup.h"
#include "host/plugin_host.h"

namespace trivet {

class HostCatalog final : public ConfigCatalog {
 public:
  // `plugin_dirs` are the values of --plugin-dir. Reads notes, loads nothing. While this object
  // exists, the registry loads plugins through it; only one may exist at a time. Code that resolves
  // a config also loads plugins for defaults, since only a loaded plugin knows its rules.
  explicit HostCatalog(const std::vector<std::string>& plugin_dirs,
                       UnknownDefaults unknown = UnknownDefaults::leave);
  HostCatalog(const HostCatalog&) = delete;
  HostCatalog& operator=(const HostCatalog&) = delete;
  ~HostCatalog() override;

  SchemaLookup& schemas() override { return lookup_; }
  std::vector<std::string> keys(std::string_view kind) override;
  std::vector<std::string> kinds_of(std::string_view key) override;
  void check_rules(std::string_view kind, const ConfigValue& config,
                   Diagnostics& diagnostics) override;
  Experiment experiment(const std::string& key) override;
  void check_experiment(const std::string& key, const Value& config,
                        Diagnostics& diagnostics) override;

  PluginHost& host() noexcept { return host_; }
  // Found on first use.
  const std::vector<ExperimentFile>& experiment_files();

 private:
  // The library of the plugin that registers this experiment. Empty if no plugin does.
  std::string library_of(const std::string& key) const;

  PluginHost host_;
  HostLookup lookup_;
  std::optional<std::vector<ExperimentFile>> files_;
};

}  // namespace trivet
