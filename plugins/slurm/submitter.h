// SPDX-License-Identifier: Apache-2.0
// Submitter: submits the units' jobs that Slurm does not have yet, in as few arrays as possible:
// one per job name, and more if units wait for different jobs or exceed the size of an array.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "commands.h"
#include "slurm_config.h"
#include "submissions.h"
#include "trivet/launch/orchestrator.h"
#include "unit_statuses.h"

namespace trivet::slurm {

class Submitter {
 public:
  // The submit lock must be held.
  Submitter(const SlurmConfig& config, launch::OrchestratorContext& context, Commands& commands,
            Submissions& submissions);

  // Returns once sbatch has accepted all; records each array as soon as it is accepted. Throws
  // RunError if sbatch refuses one or its answer is unknown.
  void submit(std::span<const launch::WorkUnit> units);

 private:
  // A job to submit.
  struct Wanted {
    const launch::WorkUnit* unit;
    const launch::Job* job;
  };
  // Tasks keyed by their number in the chunk.
  using Tasks = std::map<std::int64_t, Wanted>;

  void resolve_submissions();
  std::vector<Wanted> wanted_jobs(std::span<const launch::WorkUnit> units);
  void submit_chunk(const std::vector<Wanted>& chunk);
  std::string dependency_of(const Wanted& wanted, std::int64_t task);
  void submit_array(const Tasks& tasks, const std::string& dependency);
  UnitStatuses& statuses_of(const launch::WorkUnit& unit);
  void set_status(const Wanted& wanted, const launch::JobStatus& status);
  void record();

  const SlurmConfig& config_;
  launch::OrchestratorContext& context_;
  Commands& commands_;
  Submissions& submissions_;
  Queue queue_;
  std::map<std::int64_t, UnitStatuses> statuses_;
  // The array in this chunk of each job of a task.
  std::map<std::pair<std::string, std::int64_t>, std::string> arrays_;
  std::vector<launch::JobEvent> events_;
};

}  // namespace trivet::slurm
