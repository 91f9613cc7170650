// SPDX-License-Identifier: Apache-2.0
// Launching: turns a resolved config into work units, records them and passes them to an
// orchestrator. All errors are found before anything is created.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "config/tree/config_catalog.h"
#include "launch/plan/launch_plan.h"
#include "trivet/config/value.h"
#include "trivet/launch/job.h"

namespace trivet {

// A checked experiment, ready to launch.
struct PlannedLaunch {
  std::int64_t xid = 0;
  std::string name, orchestrator;
  std::filesystem::path root, directory;
  std::vector<launch::WorkUnit> units;  // the units to start
  std::vector<std::size_t> items;       // the sweep item of each unit, from 1
  std::vector<launch::WorkUnit> there;  // already recorded, with the same identity
  std::vector<std::string> tags;
  std::size_t duplicates = 0;       // sweep items equal to another item
  std::vector<std::string> intent;  // lines: the plan of an orchestrator that generates units
  Value copies;                     // {original: copy below `directory`} of the files that jobs use
};

class Launcher {
 public:
  // Throws ConfigError with all errors. Creates nothing.
  Launcher(LaunchRequest request, ConfigCatalog& catalog);
  ~Launcher();

  const ResolvedLaunch& resolved() const;

  // Plans the units, with the number that the experiment would get.
  PlannedLaunch plan();
  // Records the units and passes them to the orchestrator. Throws RunError if the files cannot be
  // written.
  PlannedLaunch launch();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace trivet
