// SPDX-License-Identifier: Apache-2.0
//
// Experiments that are files: PLUGIN_DIR/NAME/configs/X.toml beside the library of the plugin NAME
// is the experiment "NAME/X". Files in folders below configs/ are none: that is the location for
// what experiments have in common and name as their `base`.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "host/plugin_host.h"

namespace trivet {

struct ExperimentFile {
  std::string key;
  std::filesystem::path path;
  std::string error;  // why it cannot be used; empty if it can
};

// Those of every plugin that can be used, sorted by plugin and name. Only folders are read. A file
// must be as safe from others as a library (path_safety.h): a config names files and commands.
std::vector<ExperimentFile> experiment_files(const PluginHost& host);

// What the first sentence of the comment at the top of a config says, in one line; empty if there
// is none, or if the file cannot be read.
std::string experiment_doc(const std::filesystem::path& file);

}  // namespace trivet
