// SPDX-License-Identifier: Apache-2.0
//
// What config resolution asks about plugins. The host answers from manifests; tests bring their
// own.
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

  // The schemas behind "plugin/Name"; no plugin is loaded for them.
  virtual SchemaLookup& schemas() = 0;

  // All registered keys of a kind, and all kinds a key is registered for.
  virtual std::vector<std::string> keys(std::string_view kind) = 0;
  virtual std::vector<std::string> kinds_of(std::string_view key) = 0;

  // Adds what the rules of a type's config struct say (its `validate`), for which its plugin is
  // loaded. Throws PluginError when the plugin cannot be used.
  virtual void check_rules(std::string_view kind, const ConfigValue& config,
                           Diagnostics& diagnostics) = 0;

  // An experiment by its name: the config that a plugin makes, for which it is loaded, or the file
  // that holds it. A fresh one each time. Throws ConfigError when there is none or more than one of
  // this name, PluginError when the plugin cannot be used.
  struct Experiment {
    Value config{};  // when `file` is empty
    std::filesystem::path file{};
    bool restricted = false;  // has restrictions, for check_experiment
  };
  virtual Experiment experiment(const std::string& key) = 0;

  // Adds what the restrictions of a registered experiment say of a whole config that started from
  // it, complete and without the keys that resolution uses up. Loads its plugin if need be. Throws
  // ConfigError when there is no such experiment, PluginError when the plugin cannot be used.
  virtual void check_experiment(const std::string& key, const Value& config,
                                Diagnostics& diagnostics) = 0;
};

}  // namespace trivet
