// SPDX-License-Identifier: Apache-2.0
//
// JobPlan: the jobs of an experiment before it is known in which work unit they run.
//
//   those of xp.jobs_provider < [xp.jobs.NAME] laid over them < fields of [xp] where they say
//   nothing
//
// A field that the command line sets for all jobs (--xp.platform=) and a file for one of them is an
// error: it would be ignored otherwise.
#pragma once

#include <string>
#include <vector>

#include "config/resolver.h"
#include "launch/arguments.h"
#include "trivet/launch/job.h"
#include "trivet/schema.h"

namespace trivet {

struct JobPlan {
  std::string name;
  launch::JobConfig config;  // merged; its args are in `arguments`
  std::vector<Argument> arguments;
  std::vector<launch::Dependency> after;
};

// Throws ConfigError with everything that is wrong: conflicts, no job at all, jobs without a
// target, unknown or cyclic `after`, files that are missing.
std::vector<JobPlan> plan_jobs(const ResolvedLaunch& launch);

}  // namespace trivet
