// SPDX-License-Identifier: Apache-2.0
// The queries of config resolution about plugins. The host answers them from manifests; tests have
// their own implementations.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "trivet/config/config_of.h"
#include "trivet/config/schema.h"
#include "trivet/config/value.h"
#include "trivet/error.h"

namespace trivet {

class ConfigCatalog {
 public:
  virtual ~ConfigCatalog() = default;

  // The schemas of "plugin/Name". Loads no plugin.
  virtual SchemaLookup& schemas() = 0;

  // All registered keys of a kind, and all kinds a key is registered for.
  virtual std::vector<std::string> keys(std::string_view kind) = 0;
  virtual std::vector<std::string> kinds_of(std::string_view key) = 0;

  // Adds the errors found by the rules of a type's config struct (its `validate`). Loads the
  // plugin. Throws PluginError if the plugin cannot be used.
  virtual void check_rules(std::string_view kind, const ConfigValue& config,
                           Diagnostics& diagnostics) = 0;

  // Finds an experiment by name: the config of a plugin, which is loaded, or the experiment's file.
  // Returns a new object each time. Throws ConfigError if no or several experiments have this name,
  // PluginError if the plugin cannot be used.
  struct Experiment {
    Value config{};  // if `file` is empty
    std::filesystem::path file{};
    bool restricted = false;  // has restrictions, for check_experiment
  };
  virtual Experiment experiment(const std::string& key) = 0;

  // Adds the errors that the restrictions of a registered experiment find in a config that starts
  // from it. The config is complete and lacks the keys that resolution removes. Loads the plugin if
  // needed. Throws ConfigError if the experiment does not exist, PluginError if the plugin cannot
  // be used.
  virtual void check_experiment(const std::string& key, const Value& config,
                                Diagnostics& diagnostics) = 0;
};

}  // namespace trivet
