// SPDX-License-Identifier: Apache-2.0
//
// JobPlan: the jobs of an experiment before it is known in which work unit they run.
//
//   those of xp.jobs_provider < [xp.jobs.NAME] laid over them < fields of [xp] where they say
//   nothing
//
// A value that the command line sets for all jobs (--xp.platform=, --xp.args.lr=) and a file for
// one of them is an error: it would be ignored otherwise.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "config/resolver.h"
#include "launch/plan/job_arguments.h"
#include "launch/plan/job_program.h"
#include "launch/plan/launch_files.h"
#include "trivet/config/schema.h"
#include "trivet/launch/job.h"

namespace trivet {

struct JobPlan {
  std::string name;
  Origin where;              // of its table, for messages
  launch::JobConfig config;  // merged; its args are in `arguments`
  std::vector<Argument> arguments;
  std::vector<launch::Dependency> after;
  JobProgram program;
  std::map<std::string, LaunchFile> files;

  // Whether the job gets what the sweep says of a name.
  bool gets(const std::string& swept) const;
};

// Takes what the jobs use into `files`. Throws ConfigError with everything that is wrong:
// conflicts, no job at all, jobs without a target, unknown or cyclic `after`, programs, scripts and
// files that are missing.
std::vector<JobPlan> plan_jobs(const ResolvedLaunch& launch, LaunchFiles& files);

}  // namespace trivet
