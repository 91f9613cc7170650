// SPDX-License-Identifier: Apache-2.0
// Names of experiments, work units and jobs: XID[/WID[/JOB]]. XID may also be @last, the newest
// experiment, or the directory of an experiment.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace trivet {

struct ExperimentId {
  std::filesystem::path root;  // the root that contains it; empty for a directory
  std::int64_t xid = 0;        // 0: unknown
  std::filesystem::path directory;
  std::optional<std::int64_t> wid;
  std::optional<std::string> job;
};

// Searches below `root`. Throws UsageError, with the existing numbers, if `text` names nothing
// there.
ExperimentId find_experiment(const std::string& text, const std::filesystem::path& root);

// --root, else TRIVET_ROOT, else "runs".
std::filesystem::path experiments_root(const std::string* option);

}  // namespace trivet
