// SPDX-License-Identifier: Apache-2.0
// UnitBuilder: builds the work units of an experiment from its jobs and sweep items.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "config/resolver.h"
#include "config/tree/config_catalog.h"
#include "launch/plan/job_plan.h"
#include "trivet/launch/job.h"
#include "trivet/launch/subdir_format.h"
#include "trivet/launch/sweep_info.h"

namespace trivet {

// The name and directories of an experiment.
struct ExperimentLocation {
  std::int64_t xid = 0;
  std::string name;
  std::string author;
  std::filesystem::path directory;          // absolute
  std::filesystem::path working_directory;  // directory of the launch; absolute
  std::filesystem::path config_file;        // the run's config for the jobs; empty without one
  std::filesystem::path unit_file;          // for runs that get overrides as words; or empty
  std::vector<std::string> plugin_dirs{};   // of the launch, absolute: runs search them, too
};

// Expands {author}, {name} and {cell} in root_dir; experiments_root() if it is not set. Absolute.
// Throws ConfigError for other placeholders, and for {cell} if no cell is set.
std::filesystem::path root_directory(const launch::Experiment& experiment, const std::string& name,
                                     const std::string& author, const std::string& cell);
// The experiment's directory below root_dir. Throws ConfigError for names that leave it.
std::filesystem::path experiment_directory(const launch::SubdirFormat& format,
                                           const std::filesystem::path& root,
                                           const ExperimentLocation& location,
                                           const std::string& cell);

// The work of a unit, independent of its directory and number.
struct UnitWork {
  launch::SweepItem item;
  std::int64_t repeat = 1;                       // which of xp.repeats
  std::vector<std::vector<Argument>> arguments;  // of each job, in the order of the plans
  std::string identity;                          // equal for equal work
};

class UnitBuilder {
 public:
  // All arguments must outlive this object, except `overrides`: the words of the units' runs
  // (UnitConfig::words).
  UnitBuilder(const ResolvedLaunch& launch, const std::vector<JobPlan>& plans,
              const launch::SubdirFormat& format, const ExperimentLocation& location,
              std::vector<std::string> overrides = {});

  // Throws ConfigError for an argument that is both swept and set on the command line.
  UnitWork work(const launch::SweepItem& item, std::int64_t repeat = 1) const;

  // `units`: the total number of units, for {wid}.
  launch::WorkUnit build(const UnitWork& work, std::int64_t wid, std::int64_t units) const;

 private:
  std::vector<Argument> arguments(const JobPlan& plan, const launch::SweepItem& item) const;
  std::string identity(const UnitWork& work) const;
  launch::Job job(const JobPlan& plan, const std::vector<Argument>& arguments,
                  const launch::DirProperties& properties,
                  const std::filesystem::path& directory) const;

  // A run searches for plugins in the same folders as the launch.
  void add_plugin_dirs(launch::Job& job, std::size_t at) const;

  const ResolvedLaunch& launch_;
  const std::vector<JobPlan>& plans_;
  const launch::SubdirFormat& format_;
  const ExperimentLocation& location_;
  std::vector<std::string> overrides_;
  std::string cell_;
};

}  // namespace trivet
