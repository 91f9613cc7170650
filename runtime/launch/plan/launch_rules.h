// SPDX-License-Identifier: Apache-2.0
// Checks the rules for the units of a launch.
#pragma once

#include <vector>

#include "config/resolver.h"
#include "launch/plan/job_plan.h"
#include "launch/plan/sweep_items.h"
#include "trivet/launch/job.h"

namespace trivet {

// Chooses a sweep_info for --sweep, so that the config need not set one.
void imply_sweep(ResolvedLaunch& launch);

// Throws ConfigError for a swept name that no job takes, as different units would do the same work,
// and for a job that takes a name that is almost a swept one.
void refuse_lost_names(const SweepItems& sweep, const std::vector<JobPlan>& plans);

// Throws ConfigError for two units in one directory, which would overwrite each other.
void refuse_shared_directories(const std::vector<launch::WorkUnit>& units,
                               const std::vector<launch::WorkUnit>& there);

// Throws ConfigError for a job of several processes that the orchestrator or the job itself does
// not support, and for replicas that contradict the platform or do not fit on the nodes.
void refuse_replicas(const std::vector<JobPlan>& plans, const ResolvedLaunch& launch,
                     const std::vector<launch::SweepItem>& items);

}  // namespace trivet
