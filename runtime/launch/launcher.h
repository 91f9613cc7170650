// SPDX-License-Identifier: Apache-2.0
//
// Launching: from a resolved config to work units that are recorded and handed to an orchestrator.
// Everything that can be wrong is found before anything is created.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/catalog.h"
#include "config/resolver.h"
#include "launch/job_plan.h"
#include "launch/records.h"
#include "launch/unit_builder.h"
#include "trivet/launch/orchestrator.h"

namespace trivet {

struct LaunchRequest {
  ConfigRequest config;
  std::string source;  // the config's file, for the default of the name
  std::vector<std::string> plugin_dirs;
  // PATH=V1,V2 and so on, from --sweep.
  std::vector<std::string> sweeps;
};

// An experiment that could be launched.
struct PlannedLaunch {
  std::int64_t xid = 0;
  std::string name, orchestrator;
  std::filesystem::path root, directory;
  std::vector<launch::WorkUnit> units;  // those to be started
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

// Of an experiment that has been launched: its records, which can add units, and its orchestrator.
// Unless it is shared, what the process writes from then on is for the owner only.
class LaunchedExperiment {
 public:
  // `plugin_dirs`: what the catalog searches beside those that are recorded; a supervisor is
  // started with both. Throws RunError for a directory that holds no experiment.
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
