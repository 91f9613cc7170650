// SPDX-License-Identifier: Apache-2.0
// LaunchPlan: the resolved input of a launch: jobs, sweep items and the run's config. It does not
// depend on the experiment's number or directory.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "config/resolver.h"
#include "config/tree/config_catalog.h"
#include "launch/plan/job_plan.h"
#include "launch/plan/launch_files.h"
#include "launch/plan/sweep_items.h"
#include "launch/plan/unit_config.h"
#include "launch/store/disk_records.h"
#include "trivet/launch/orchestrator.h"

namespace trivet {

struct LaunchRequest {
  ConfigRequest config;
  std::string source;  // the config's file, for the default of the name
  std::vector<std::string> plugin_dirs;
  // PATH=V1,V2 and so on, from --sweep.
  std::vector<std::string> sweeps;
  // Of the launches of the experiment from whose record this one starts. They are swept again
  // unless --sweep or xp.sweep says something else.
  std::vector<RequestedSweep> recorded_sweeps{};
};

// An orchestrator for questions about its kind; it starts nothing.
struct AskedOrchestrator {
  AskedOrchestrator(const launch::Experiment& experiment, const std::filesystem::path& root);

  DiskRecords records;
  launch::OrchestratorContext context;
  std::unique_ptr<launch::Orchestrator> orchestrator;
};

struct LaunchPlan {
  std::vector<RequestedSweep> sweeps;  // what is swept
  ResolvedLaunch launch;
  std::unique_ptr<AskedOrchestrator> asked;  // the jobs ask it
  std::vector<JobPlan> jobs;
  SweepItems sweep;   // no items if the orchestrator generates the units
  UnitConfig config;  // if there is a run's config
  LaunchFiles files{std::filesystem::current_path()};
  std::string name, author;
  std::filesystem::path root;
  bool makes_units = false;
  std::vector<std::string> intent;  // if the orchestrator generates the units

  std::string main_cell() const { return jobs.front().config.cell.value_or(""); }
};

// Throws ConfigError with all errors.
LaunchPlan plan_launch(const LaunchRequest& request, ConfigCatalog& catalog);

}  // namespace trivet
