// SPDX-License-Identifier: Apache-2.0
// Submitter: hands the jobs of units to Slurm that it does not have yet, as few arrays as can be:
// one for each job of the units, further ones where units differ in what they wait for, and where
// there are more units than an array may have.
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
  Submitter(const SlurmConfig& config, OrchestratorContext& context, Commands& commands,
            Submissions& submissions);

  // Returns once sbatch has taken all; each array is recorded as soon as it has been taken. Throws
  // RunError when sbatch does not, or there is no telling.
  void submit(std::span<const launch::WorkUnit> units);

 private:
  // A job that is to be handed over.
  struct Wanted {
    const launch::WorkUnit* unit;
    const launch::Job* job;
  };
  // Tasks by their number in the chunk.
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
  OrchestratorContext& context_;
  Commands& commands_;
  Submissions& submissions_;
  Queue queue_;
  std::map<std::int64_t, UnitStatuses> statuses_;
  // The array of this chunk that a job of a task is in.
  std::map<std::pair<std::string, std::int64_t>, std::string> arrays_;
  std::vector<launch::JobEvent> events_;
};

}  // namespace trivet::slurm
