// SPDX-License-Identifier: Apache-2.0
// A new folder with copies of test plugins, searched by its own host.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "host/plugin_host.h"
#include "support/shell.h"

namespace trivet::test {

// The path of a built test plugin.
std::filesystem::path fixture(std::string_view name);

class PluginFolder {
 public:
  PluginFolder();

  const std::filesystem::path& path() const { return folder_.path(); }
  // Copies a test plugin, under another file name if given; returns its path.
  std::filesystem::path copy(std::string_view name, std::string_view as = {}) const;
  // The first `size` bytes of a test plugin.
  std::filesystem::path copy_start(std::string_view name, std::size_t size,
                                   std::string_view as) const;
  std::vector<SearchDirectory> search() const;

  // The start of a shell command that runs trivet with this folder as its only one: a separate copy
  // of the program, which does not find the plugins built or installed next to the original.
  std::string trivet() const;

 private:
  TempDir folder_;
  TempDir alone_;
};

// The host's view of the file with this name (x for x.so); throws if the host has not read it.
PluginFile state_of(const PluginHost& host, std::string_view stem);

}  // namespace trivet::test
