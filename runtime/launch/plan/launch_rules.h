// SPDX-License-Identifier: Apache-2.0
//
// What must hold for the units of a launch.
#pragma once

#include <vector>

#include "config/resolver.h"
#include "launch/plan/job_plan.h"
#include "launch/plan/sweep_items.h"
#include "trivet/launch/job.h"

namespace trivet {

// --sweep says what is swept, and where the names belong: a sweep_info is not needed beside it.
void imply_sweep(ResolvedLaunch& launch);

// Throws ConfigError for a swept name that no job gets: units of different names would do the same
// work.
void refuse_lost_names(const SweepItems& sweep, const std::vector<JobPlan>& plans);

// Throws ConfigError for two units in one directory, which would overwrite each other.
void refuse_shared_directories(const std::vector<launch::WorkUnit>& units,
                               const std::vector<launch::WorkUnit>& there);

}  // namespace trivet
