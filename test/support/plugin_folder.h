// SPDX-License-Identifier: Apache-2.0
// A fresh folder with copies of the test plugins, searched by a host of its own.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "host/plugin_host.h"
#include "support/shell.h"

namespace trivet::test {

// Where the build left a test plugin.
std::filesystem::path fixture(std::string_view name);

class PluginFolder {
 public:
  PluginFolder();

  const std::filesystem::path& path() const { return folder_.path(); }
  // Copies a test plugin; returns where it lies now. Under another file name if given.
  std::filesystem::path copy(std::string_view name, std::string_view as = {}) const;
  // The first `size` bytes of a test plugin.
  std::filesystem::path copy_start(std::string_view name, std::size_t size,
                                   std::string_view as) const;
  std::vector<SearchDirectory> search() const;

  // The start of a shell command that runs trivet with this folder as its only one: a copy of the
  // program that stands alone, so that the plugins built or installed beside it are not found.
  std::string trivet() const;

 private:
  TempDir folder_;
  TempDir alone_;
};

// The file of this name (x for x.so) as the host sees it; throws if it has not looked at it.
PluginFile state_of(const PluginHost& host, std::string_view stem);

}  // namespace trivet::test
