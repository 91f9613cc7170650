// SPDX-License-Identifier: Apache-2.0
// LaunchedExperiment: a launched experiment with its records, which can add units, and its
// orchestrator.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "config/tree/config_catalog.h"
#include "launch/store/disk_records.h"
#include "trivet/config/value.h"
#include "trivet/launch/experiment.h"
#include "trivet/launch/orchestrator.h"

namespace trivet {

// From now on, only the owner can read the files of this process and of the jobs, which inherit the
// mask, unless the experiment is shared.
void keep_private(const launch::Experiment& experiment);

class LaunchedExperiment {
 public:
  // Calls keep_private(). The catalog searches `plugin_dirs` and the recorded folders; a supervisor
  // gets both. Throws RunError if the directory contains no experiment.
  LaunchedExperiment(std::filesystem::path directory, ConfigCatalog& catalog,
                     const std::vector<std::string>& plugin_dirs = {});
  ~LaunchedExperiment();

  std::int64_t xid() const;
  const Value& facts() const;  // experiment.json
  DiskRecords& records();
  launch::Orchestrator& orchestrator();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace trivet
