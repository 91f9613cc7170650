// SPDX-License-Identifier: Apache-2.0
// Finds the schema of "plugin/Name" for a run in the registry, which loads plugins on demand.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "trivet/config/schema.h"

namespace trivet {

class RegisteredSchemas final : public SchemaLookup {
 public:
  // Throws PluginError if a plugin cannot be used.
  const Schema* find(std::string_view kind, std::string_view key, const Origin& where,
                     const std::string& path, Diagnostics& diagnostics) override;
  std::optional<ScalarShorthand> for_number(std::string_view kind) override;
};

}  // namespace trivet
