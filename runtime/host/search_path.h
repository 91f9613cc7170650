// SPDX-License-Identifier: Apache-2.0
//
// Where plugins are looked for: --plugin-dir, TRIVET_PLUGIN_PATH, the user's folder, the installed
// one, in this order. Never the working directory.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace trivet {

struct SearchDirectory {
  std::filesystem::path path;
  std::string source;  // "--plugin-dir", "TRIVET_PLUGIN_PATH", "user", "installed"
  std::string error;   // why it is not searched; empty if it is, or if it does not exist
  bool exists = false;
  bool shipped = false;  // the installed one, by whichever way it is found
};

// `options` are the values of --plugin-dir; one that does not exist is an error, elsewhere it is
// not. Nothing is refused by an exception: every folder comes back with its state.
std::vector<SearchDirectory> plugin_search_path(const std::vector<std::string>& options);

}  // namespace trivet
