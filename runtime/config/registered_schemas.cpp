// SPDX-License-Identifier: Apache-2.0
#include "config/registered_schemas.h"

#include "trivet/plugin/registry.h"

namespace trivet {

const Schema* RegisteredSchemas::find(std::string_view kind, std::string_view key,
                                      const Origin& where, const std::string& path,
                                      Diagnostics& diagnostics) {
  static const Schema kNoFields;
  try {
    const RegistryItem& item = registry().get(kind, key, where, path);
    return item.schema != nullptr ? &item.schema() : &kNoFields;
  } catch (const ConfigError& missing) {
    for (const Diagnostic& problem : missing.diagnostics()) diagnostics.add(problem);
    return nullptr;
  }
}

std::optional<ScalarShorthand> RegisteredSchemas::for_number(std::string_view kind) {
  return registry().for_number(kind);
}

}  // namespace trivet
