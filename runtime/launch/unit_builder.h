// SPDX-License-Identifier: Apache-2.0
//
// UnitBuilder: work units of an experiment from its jobs and the items of its sweep.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/catalog.h"
#include "config/resolver.h"
#include "launch/job_plan.h"
#include "trivet/launch/job.h"
#include "trivet/launch/subdir_format.h"
#include "trivet/launch/sweep_info.h"

namespace trivet {

// What an experiment is called and where it lies.
struct ExperimentPlace {
  std::int64_t xid = 0;
  std::string name;
  std::string author;
  std::filesystem::path directory;          // absolute
  std::filesystem::path working_directory;  // where it is launched from; absolute
  std::filesystem::path config_file;        // the run's, as the jobs get it; empty without one
};

// {author}, {name} and, where it is known, {xid} in root_dir. Absolute. Throws ConfigError when it
// is not set or has an unknown placeholder.
std::filesystem::path root_directory(const launch::Experiment& experiment, const std::string& name,
                                     const std::string& author);
// Of the experiment: below root_dir. Throws ConfigError for names that lead out of it.
std::filesystem::path experiment_directory(const SubdirFormat& format,
                                           const std::filesystem::path& root,
                                           const ExperimentPlace& place, const std::string& cell);

class UnitBuilder {
 public:
  // All must outlive it. Throws ConfigError for what is wrong with every unit: programs and scripts
  // that are not there, unknown placeholders.
  UnitBuilder(const ResolvedLaunch& launch, const std::vector<JobPlan>& plans,
              const SubdirFormat& format, const ExperimentPlace& place);

  // What decides what the unit does: equal for equal work, wherever it lies. `sweeps_config`: the
  // item's names are paths in the run's config. Throws ConfigError for an argument that is both
  // swept and set on the command line.
  std::string identity(const SweepItem& item, bool sweeps_config) const;

  // `units`: how many there are in all, for {wid}.
  launch::WorkUnit build(const SweepItem& item, bool sweeps_config, std::int64_t wid,
                         std::int64_t units) const;

  const std::string& main_cell() const { return cell_; }

 private:
  std::vector<Argument> arguments(const JobPlan& plan, const SweepItem& item,
                                  bool sweeps_config) const;
  launch::Job job(const JobPlan& plan, const SweepItem& item, bool sweeps_config,
                  const DirProperties& properties, const std::filesystem::path& directory) const;

  const ResolvedLaunch& launch_;
  const std::vector<JobPlan>& plans_;
  const SubdirFormat& format_;
  const ExperimentPlace& place_;
  std::string cell_;
  std::map<std::string, std::vector<std::string>> programs_;  // of a job: what argv begins with
};

// An executable as a shell finds it, absolute; nothing when there is none.
std::optional<std::filesystem::path> find_program(const std::string& target,
                                                  const std::filesystem::path& working_directory);

}  // namespace trivet
