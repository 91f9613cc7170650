// SPDX-License-Identifier: Apache-2.0
// SlurmOrchestrator: runs the jobs of an experiment on a cluster, by Slurm's commands.
//
//   [xp.orchestrator]
//   type = "slurm/Orchestrator"
//   partition = "short"
//   max_parallel = 20
//
// Each job of a sweep is one array; `after` becomes dependencies between tasks of the same number.
// Nothing has to run on the machine that has launched: a task's own process records what becomes of
// its job (trivet/launch/job_array.h), retries included, and Slurm queues it again after preemption
// and when a node fails. What nobody could record, such as a job that Slurm has dropped, is found
// out by squeue when somebody looks; no accounting database is asked.
//
// The experiment's directory and the program must be there on every node, under the same path.
// Unlike on one machine, jobs of a unit need not start at the same time.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "commands.h"
#include "slurm_config.h"
#include "trivet/launch/orchestrator.h"

namespace trivet::slurm {

class Submissions;

class SlurmOrchestrator final : public Orchestrator {
 public:
  using Config = SlurmConfig;
  SlurmOrchestrator(const Config& config, OrchestratorContext& context);

  void check(std::span<const launch::WorkUnit> units, Diagnostics& diagnostics) override;
  void launch(std::span<const launch::WorkUnit> units) override;
  void cancel(std::span<const std::int64_t> wids) override;
  void refresh(std::span<const std::int64_t> wids) override;

 private:
  // Tasks of these units that Slurm still has, and the end of those that it does not.
  struct Open {
    std::vector<std::string> pending, running, stuck;
  };
  Open open_tasks(std::span<const std::int64_t> wids, const Submissions& submissions);
  std::vector<std::string> leftovers(Submissions& submissions, const Queue& queue);
  void record_cancelled(std::span<const std::int64_t> wids, const Submissions& submissions);

  Config config_;
  OrchestratorContext& context_;
  Commands commands_;
};

}  // namespace trivet::slurm
