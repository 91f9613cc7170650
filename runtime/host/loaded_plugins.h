// SPDX-License-Identifier: Apache-2.0
// The libraries of plugins that are open in this process: for the record of a run, and for the
// words of a crash, which know an address only.
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
  // "build-id:..." as the linker wrote it, or "xxh3:..." of the bytes of a file without one.
  std::string digest;
  std::filesystem::path replaces{};  // the shipped plugin whose location this one takes; or empty
  bool shipped = false;
};

// In the order they were opened.
std::vector<LoadedPlugin> loaded_plugins();

// Notes a library that has just been opened; `inside` is the address of anything in it. The digest
// is found here.
void note_loaded(LoadedPlugin plugin, const void* inside);

// Where the code of a plugin lies. Never destroyed, so that a signal handler may read it.
struct PluginCode {
  std::uintptr_t begin, end;
  const char* name;
  const char* file;
};

// The plugin whose library an address lies in; null if in none. May be asked in a signal handler.
const PluginCode* plugin_at(const void* address) noexcept;

}  // namespace trivet
