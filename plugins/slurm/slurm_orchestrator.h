// SPDX-License-Identifier: Apache-2.0
// SlurmOrchestrator: runs the jobs of an experiment on a Slurm cluster, with Slurm's commands.
//
//   [xp.orchestrator]
//   type = "slurm/Orchestrator"
//   partition = "short"
//   max_parallel = 20
//
// Each job of a sweep is one array; `after` becomes dependencies between tasks of the same number.
// No process has to run on the launching machine: each task's process records the results of its
// job (trivet/launch/job_array.h), retries included, and Slurm requeues it after preemption and
// node failures. Other ends, such as a job that Slurm dropped, are found by squeue when a command
// reads the experiment. Accounting is not used.
//
// The experiment's directory and the program must exist under the same path on every node. Unlike
// with local/Orchestrator, jobs of a unit need not start at the same time.
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

class SlurmOrchestrator final : public launch::Orchestrator {
 public:
  using Config = SlurmConfig;
  SlurmOrchestrator(const Config& config, launch::OrchestratorContext& context);

  void check(std::span<const launch::WorkUnit> units, Diagnostics& diagnostics) override;
  void launch(std::span<const launch::WorkUnit> units) override;
  void cancel(std::span<const std::int64_t> wids) override;
  void refresh(std::span<const std::int64_t> wids) override;
  bool takes_replicas() const override { return true; }

 private:
  // Tasks of these units that Slurm still has, and the ends of the others.
  struct Open {
    std::vector<std::string> pending, running, stuck;
  };
  Open open_tasks(std::span<const std::int64_t> wids, const Submissions& submissions);
  std::vector<std::string> releasable(std::span<const std::int64_t> wids,
                                      const Submissions& submissions, const Queue& queue);
  std::vector<std::string> leftovers(Submissions& submissions, const Queue& queue);
  void record_cancelled(std::span<const std::int64_t> wids, const Submissions& submissions);

  Config config_;
  launch::OrchestratorContext& context_;
  Commands commands_;
};

}  // namespace trivet::slurm
