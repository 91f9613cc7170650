// SPDX-License-Identifier: Apache-2.0
// How many processes a job has, and who starts them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/resolver.h"
#include "launch/plan/job_plan.h"
#include "trivet/config/schema.h"
#include "trivet/launch/sweep_info.h"

namespace trivet {

struct JobProcesses {
  std::int64_t replicas = 1;  // that the orchestrator starts
  std::int64_t own = 1;       // of a run that starts them itself
  // Those that an attempt may have, ascending, the last total(); empty: total() alone.
  std::vector<std::int64_t> counts{};

  std::int64_t total() const { return replicas * own; }
};

// For a work unit of this item. A run that trains has the replicas of its job, of a range the
// largest that its mesh allows, else the mesh.processes of its config. It starts them itself where
// the orchestrator starts no replicas, or where mesh.collective names an engine without a launcher,
// which is for one machine.
JobProcesses processes_of(const JobPlan& plan, const ResolvedLaunch& launch,
                          const launch::SweepItem& item);

// Adds what is wrong with the processes of a run: replicas of a job that does not train, or that
// contradict mesh.processes; a range without a number that the mesh allows; several machines for a
// run that starts its processes itself; units of different numbers where the orchestrator starts
// them.
void check_run_processes(const JobPlan& plan, const ResolvedLaunch& launch,
                         const std::vector<launch::SweepItem>& items,
                         const std::string& orchestrator, Diagnostics& diagnostics);

// The numbers of the job's range that can train on the mesh, ascending.
std::vector<std::int64_t> counts_in(const IntegerRange& range, const MeshConfig& mesh);

}  // namespace trivet
