// SPDX-License-Identifier: Apache-2.0
//
// Opening the library of a plugin: the only location of the program where code of plugins gets into
// the process.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "host/manifest.h"
#include "trivet/plugin/registry.h"

namespace trivet {

// Opens the library, checks its entry and lets it offer its items. They are exactly those of the
// manifest. Throws PluginError with the reason otherwise; whatever the library throws is among the
// reasons; a crash is told with `key`, which the plugin is loaded for. Once open, the library stays
// open until the process ends and is among loaded_plugins(); `from` tells what stands there of its
// origin.
struct PluginOrigin {
  bool shipped = false;
  std::filesystem::path replaces{};
};
std::vector<RegistryItem> open_plugin(const std::filesystem::path& file, const Manifest& manifest,
                                      std::string_view key, const PluginOrigin& from = {});

}  // namespace trivet
