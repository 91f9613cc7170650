// SPDX-License-Identifier: Apache-2.0
//
// Plugins and their schemas as config resolution and the commands want them: the host's plugins,
// found by --plugin-dir and the usual locations.
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
  // `plugin_dirs` are the values of --plugin-dir. Reads notes, opens nothing. As long as it lives,
  // the registry loads plugins through it; one at a time. What resolves a config, whose rules only
  // a loaded plugin knows, loads for defaults too.
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
  // Found once, when first asked for.
  const std::vector<ExperimentFile>& experiment_files();

 private:
  // The library of the plugin that registers this experiment; empty if none does.
  std::string library_of(const std::string& key) const;

  PluginHost host_;
  HostLookup lookup_;
  std::optional<std::vector<ExperimentFile>> files_;
};

}  // namespace trivet
