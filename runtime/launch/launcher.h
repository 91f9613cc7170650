// SPDX-License-Identifier: Apache-2.0
//
// Launching: from a resolved config to work units that are recorded and handed to an orchestrator.
// Everything that can be wrong is found before anything is created.
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

// An experiment that could be launched.
struct PlannedLaunch {
  std::int64_t xid = 0;
  std::string name, orchestrator;
  std::filesystem::path root, directory;
  std::vector<launch::WorkUnit> units;  // those to be started
  std::vector<std::size_t> items;       // of each of them, its item in the sweep, from 1
  std::vector<launch::WorkUnit> there;  // recorded before, of the same identity
  std::vector<std::string> tags;
  std::size_t duplicates = 0;       // items of the sweep that say the same as another
  std::vector<std::string> intent;  // lines: what an orchestrator that makes the units will do
  Value copies;                     // {original: copy below `directory`} of the files that jobs use
};

class Launcher {
 public:
  // Throws ConfigError with what is wrong with it. Creates nothing.
  Launcher(LaunchRequest request, ConfigCatalog& catalog);
  ~Launcher();

  // The units as they would be, with the number the experiment would get.
  PlannedLaunch plan();
  // Records them and hands them over. Throws RunError when the files cannot be written.
  PlannedLaunch launch();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace trivet
