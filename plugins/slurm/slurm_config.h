// SPDX-License-Identifier: Apache-2.0
// [xp.orchestrator] for the type slurm/Orchestrator.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trivet/launch/orchestrator.h"

namespace trivet::slurm {

struct SlurmConfig : launch::OrchestratorConfig {
  std::string partition;
  std::string account;
  std::string qos;
  Duration time;
  std::int64_t max_parallel = 0;
  std::int64_t max_array_size = 0;
  bool requeue = true;
  Duration grace = 30;
  std::string mpi = "pmix";
  std::vector<std::string> sbatch_args;
  Duration timeout = 60;

  void validate(Diagnostics& diagnostics) const;
};
TRIVET_CONFIG(
    SlurmConfig, launch::OrchestratorConfig,
    (partition, "Partition for jobs without `cell`. Default: that of the cluster."),
    (account, "Account that is charged; default: the user's."), (qos, "Quality of service."),
    (time,
     "Time limit of each allocation of a job: \"4h\". The job gets SIGTERM `grace` "
     "before the end; one that saves and ends with exit code 75 is queued again and "
     "continues. Default: the job's time_limit, else the partition's."),
    (max_parallel, "Maximum number of jobs of an array at once. 0: no limit.", at_least(0)),
    (max_array_size, "Units in one array; 0: the cluster's MaxArraySize.", at_least(0),
     at_most(4'000'000)),
    (requeue, "Queues a job again when it is preempted, runs out of time or its node fails."),
    (grace, "Time that a job has to save when it is cancelled or its time is up."),
    (mpi,
     "How srun lets the processes of a run find each other (its option --mpi): \"pmix\" for Open "
     "MPI, \"pmi2\" for MPICH; `srun --mpi=list` lists what the cluster has. Empty: the cluster's "
     "default."),
    (sbatch_args, "Further arguments of sbatch: [\"--constraint=ib\", \"--exclusive\"]."),
    (timeout, "Time limit of a Slurm command."))

}  // namespace trivet::slurm
