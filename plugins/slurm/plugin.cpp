// SPDX-License-Identifier: Apache-2.0
// The plugin "slurm": runs experiments on a Slurm cluster.
#include "trivet/plugin.h"

#include "slurm_orchestrator.h"

TRIVET_PLUGIN(({.name = "slurm",
                .version = "1.0.0",
                .license = "Apache-2.0",
                .doc = "Experiments on a cluster that Slurm manages."}),
              trivet::orchestrator<trivet::slurm::SlurmOrchestrator>(
                  "Orchestrator", "Queues the jobs of a sweep as arrays at Slurm."))
