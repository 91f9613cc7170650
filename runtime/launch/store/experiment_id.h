// SPDX-License-Identifier: Apache-2.0
//
// How people name experiments, work units and jobs: XID[/WID[/JOB]], with @last for the newest
// experiment, or the directory of an experiment instead of XID.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace trivet {

struct ExperimentId {
  std::filesystem::path root;  // that it was found in by its number; empty for a directory
  std::int64_t xid = 0;        // 0: not known
  std::filesystem::path directory;
  std::optional<std::int64_t> wid;
  std::optional<std::string> job;
};

// Looks below `root`. Throws UsageError for text that names nothing there, with what there is.
ExperimentId find_experiment(const std::string& text, const std::filesystem::path& root);

// --root, else TRIVET_ROOT, else "runs".
std::filesystem::path experiments_root(const std::string* option);

}  // namespace trivet
