// SPDX-License-Identifier: Apache-2.0
//
// What config resolution asks about plugins. The host answers from manifests; tests bring their
// own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trivet/config_of.h"
#include "trivet/error.h"
#include "trivet/schema.h"
#include "trivet/value.h"

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
                           Problems& problems) = 0;

  // The config of a registered experiment, which needs its plugin loaded. Throws ConfigError when
  // there is none, PluginError when the plugin cannot be used.
  virtual Value experiment(const std::string& key) = 0;
};

}  // namespace trivet
