// SPDX-License-Identifier: Apache-2.0
//
// LaunchedExperiment: an experiment that has been launched: its records, which can add units, and
// its orchestrator.
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

// What this process writes from now on is for the owner only, and so is what the jobs write, which
// inherit that; unless the experiment is shared.
void keep_private(const launch::Experiment& experiment);

class LaunchedExperiment {
 public:
  // Calls keep_private(). `plugin_dirs`: what the catalog searches beside those that are recorded;
  // a supervisor is started with both. Throws RunError for a directory that holds no experiment.
  LaunchedExperiment(std::filesystem::path directory, ConfigCatalog& catalog,
                     const std::vector<std::string>& plugin_dirs = {});
  ~LaunchedExperiment();

  std::int64_t xid() const;
  const Value& facts() const;  // experiment.json
  DiskRecords& records();
  Orchestrator& orchestrator();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace trivet
