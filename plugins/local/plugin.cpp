// SPDX-License-Identifier: Apache-2.0
// The plugin "local": runs experiments on this machine.
#include "trivet/plugin.h"

#include "local/processes/shared_memory.h"
#include "local_orchestrator.h"

TRIVET_PLUGIN(({.name = "local",
                .version = "1.0.0",
                .license = "Apache-2.0",
                .doc = "Experiments on this machine, and communication between its processes."}),
              trivet::orchestrator<trivet::local::LocalOrchestrator>(
                  "Orchestrator", "Runs jobs on this machine, as many at once as it has room for."),
              trivet::collective<&trivet::local::shared_memory>(
                  "SharedMemory", "Communication between processes of one machine, without MPI."))
