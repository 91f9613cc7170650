// SPDX-License-Identifier: Apache-2.0
// The plugin libraries that are loaded in this process, for the record of a run, and for crash
// reports, which only know an address.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace trivet {

struct LoadedPlugin {
  std::string name, version;
  std::filesystem::path file;
  // "build-id:..." from the linker, or "xxh3:..." of the bytes of a file without a build id.
  std::string digest;
  std::filesystem::path replaces{};  // the shipped plugin that this one replaces; or empty
  bool shipped = false;
};

// In the order of opening.
std::vector<LoadedPlugin> loaded_plugins();

// Records a library that has just been opened; `inside` is any address in it. Computes the digest.
void note_loaded(LoadedPlugin plugin, const void* inside);

// The address range of a plugin's code. Never destroyed, so that a signal handler may read it.
struct PluginCode {
  std::uintptr_t begin, end;
  const char* name;
  const char* file;
};

// The plugin whose library contains an address. Null if none. Async-signal-safe.
const PluginCode* plugin_at(const void* address) noexcept;

}  // namespace trivet
