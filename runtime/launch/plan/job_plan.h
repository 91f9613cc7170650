// SPDX-License-Identifier: Apache-2.0
// JobPlan: the jobs of an experiment, independent of work units. The layers are
//
//   jobs of xp.jobs_provider < [xp.jobs.NAME] over them < fields of [xp] that they
//   do not set
//
// It is an error if the command line sets a value for all jobs (--xp.platform=, --xp.args.lr=) and
// a file sets it for one of them: the option would be ignored.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/resolver.h"
#include "launch/plan/job_arguments.h"
#include "launch/plan/job_program.h"
#include "launch/plan/launch_files.h"
#include "trivet/config/schema.h"
#include "trivet/launch/job.h"
#include "trivet/launch/orchestrator.h"

namespace trivet {

struct JobPlan {
  std::string name;
  Origin where;              // the location of its table, for messages
  launch::JobConfig config;  // merged; its args are in `arguments`
  std::vector<Argument> arguments;
  std::vector<launch::Dependency> after;
  JobProgram program;
  std::map<std::string, LaunchFile> files;

  // Orchestrator::gets for this job. Empty: always true.
  std::function<bool(std::string_view swept)> orchestrator_gives{};
  bool orchestrator_starts_replicas = false;  // Orchestrator::takes_replicas

  // Whether the job takes a swept name.
  bool gets(const std::string& swept) const;
};

// Whether the job is a run of this program.
bool is_run(const JobPlan& plan);

// Lets the orchestrator decide which jobs a sweep is for and who starts processes. It must outlive
// the plans.
void ask_about_jobs(std::vector<JobPlan>& plans, const launch::Orchestrator& orchestrator);

// Adds the files of the jobs to `files`. Throws ConfigError with all errors: conflicts, no jobs,
// jobs without a target, unknown or cyclic `after`, missing programs, scripts and files.
std::vector<JobPlan> plan_jobs(const ResolvedLaunch& launch, LaunchFiles& files);

}  // namespace trivet
