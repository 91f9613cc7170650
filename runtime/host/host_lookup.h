// SPDX-License-Identifier: Apache-2.0
// HostLookup: the schemas of every item that a config may name, loading no plugin for it.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "host/plugin_host.h"
#include "trivet/config/schema.h"
#include "trivet/plugin/registry.h"

namespace trivet {

// What to do about defaults that a plugin's compiler could not write into its note.
enum class UnknownDefaults { leave, load_plugin };

// Schemas for validate(): of registered items from the registry, of others from the notes. A key of
// a refused plugin throws PluginError.
class HostLookup final : public SchemaLookup {
 public:
  explicit HostLookup(PluginHost& host, UnknownDefaults unknown = UnknownDefaults::leave,
                      Registry& from = registry())
      : host_(host), registry_(from), unknown_(unknown) {}

  const Schema* find(std::string_view kind, std::string_view key, const Origin& where,
                     const std::string& path, Diagnostics& diagnostics) override;
  std::optional<ScalarShorthand> for_number(std::string_view kind) override;

 private:
  // Null when it cannot be read; then the plugin is refused.
  const Schema* from_note(const ManifestItem& item);

  PluginHost& host_;
  Registry& registry_;
  UnknownDefaults unknown_;
  std::mutex mutex_;
  std::map<std::string, Schema> schemas_;  // read so far, by "kind key"
};

}  // namespace trivet
