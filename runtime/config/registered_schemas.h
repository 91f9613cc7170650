// SPDX-License-Identifier: Apache-2.0
// The schemas behind "plugin/Name" as a run finds them: in the registry, which loads the plugins of
// a config when it is asked.
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
