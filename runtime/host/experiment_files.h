// SPDX-License-Identifier: Apache-2.0
// Experiments in files: PLUGIN_DIR/NAME/configs/X.toml next to the library of the plugin NAME is
// the experiment "NAME/X". Files in folders below configs/ are not experiments: these folders are
// for shared files that experiments name as their `base`.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "host/plugin_host.h"

namespace trivet {

struct ExperimentFile {
  std::string key;
  std::filesystem::path path;
  std::string error;  // why it cannot be used; empty if usable
};

// The experiments of every usable plugin, sorted by plugin and name. Reads only folders. A file
// must be as protected as a library (path_safety.h), because a config names files and commands.
std::vector<ExperimentFile> experiment_files(const PluginHost& host);

// The first sentence of the comment at the top of a config, in one line. Empty if there is none, or
// if the file cannot be read.
std::string experiment_doc(const std::filesystem::path& file);

}  // namespace trivet
