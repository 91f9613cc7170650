// SPDX-License-Identifier: Apache-2.0
// LocalOrchestrator: runs the jobs of an experiment on this machine.
//
//   [xp.orchestrator]
//   type = "local/Orchestrator"
//   max_parallel = 4
//
// A detached supervisor starts units by priority, then by wid, as soon as the cores, memory and
// GPUs that their jobs declare are free. A run with a range of processes gets as many of them as
// are free (process_choice.h). Jobs of a unit start together; jobs that wait for others (`after`)
// follow one by one. A job that does not fit is not overtaken by later jobs that need the same
// resources. Experiments that the same user runs on this machine share it (resource_ledger.h). A
// job is pinned to its own cores, and gets matching OMP_NUM_THREADS and CUDA_VISIBLE_DEVICES. If
// this user can create cgroups (cgroup_location.h), a job that exceeds its declared memory is
// killed and fails with "memory limit". Otherwise memory is only counted, and supervisor.log says
// so.
//
// Jobs keep running if the supervisor dies; the next supervisor adopts them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "capacity.h"
#include "machine.h"
#include "trivet/launch/orchestrator.h"

namespace trivet::local {

struct LocalConfig : launch::OrchestratorConfig {
  std::int64_t max_parallel = 0;
  std::int64_t cores = 0;
  Bytes memory;
  Duration grace = 30;
  bool fail_fast = false;
  bool cgroups = true;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(
    LocalConfig, launch::OrchestratorConfig,
    (max_parallel, "Maximum number of jobs at once. 0: as many as fit.", at_least(0)),
    (cores,
     "Cores of this machine for this experiment; 0: all that its processes may use. If this "
     "exceeds the cores of the machine, jobs share cores and are not pinned.",
     at_least(0)),
    (memory, "Memory for what jobs declare, \"16GiB\"; 0: all of the machine's.", at_least(0)),
    (grace, "Time that a job has to save when it is cancelled or its time is up."),
    (fail_fast,
     "Once a job has failed for good, cancels the rest: what runs and what has not started."),
    (cgroups,
     "Kills a job that uses more memory than it declares, by a cgroup. If the user cannot create "
     "cgroups, memory is only counted."))

class LocalOrchestrator final : public launch::Orchestrator {
 public:
  using Config = LocalConfig;
  LocalOrchestrator(const Config& config, launch::OrchestratorContext& context);

  void check(std::span<const launch::WorkUnit> units, Diagnostics& diagnostics) override;
  void launch(std::span<const launch::WorkUnit> units) override;
  void cancel(std::span<const std::int64_t> wids) override;
  void refresh(std::span<const std::int64_t> wids) override;
  bool has_supervisor() const override { return true; }
  void supervise(const launch::Supervision& supervision) override;

 private:
  Limits limits() const;

  Config config_;
  launch::OrchestratorContext& context_;
  Machine machine_;
};

}  // namespace trivet::local
