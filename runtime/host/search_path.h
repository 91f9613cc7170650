// SPDX-License-Identifier: Apache-2.0
// The search path of plugins: --plugin-dir, TRIVET_PLUGIN_PATH, the user's folder, the installed
// folder, in this order. Never the working directory.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace trivet {

struct SearchDirectory {
  std::filesystem::path path;
  std::string source;  // "--plugin-dir", "TRIVET_PLUGIN_PATH", "user", "installed"
  std::string error;   // why it is not searched; empty if searched or missing
  bool exists = false;
  bool shipped = false;  // the installed folder, under any path
};

// `options` are the values of --plugin-dir. A missing folder is an error for --plugin-dir only.
// Does not throw: returns every folder with its state.
std::vector<SearchDirectory> plugin_search_path(const std::vector<std::string>& options);

}  // namespace trivet
