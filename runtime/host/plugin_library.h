// SPDX-License-Identifier: Apache-2.0
// Opens the library of a plugin. Only this function loads plugin code into the process.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "host/manifest.h"
#include "trivet/plugin/registry.h"

namespace trivet {

// Opens the library, checks its entry and collects its items, which must be exactly those of the
// manifest. Throws PluginError with the reason otherwise, also if the library throws. A crash
// report names `key`, the key that needs the plugin. The opened library stays open until the
// process ends and is listed in loaded_plugins() with the origin `from`.
struct PluginOrigin {
  bool shipped = false;
  std::filesystem::path replaces{};
};
std::vector<RegistryItem> open_plugin(const std::filesystem::path& file, const Manifest& manifest,
                                      std::string_view key, const PluginOrigin& from = {});

}  // namespace trivet
