// SPDX-License-Identifier: Apache-2.0
// The plugin "mpi": the processes of a run talk by MPI.
#include "trivet/plugin.h"

#include "mpi/engine.h"

TRIVET_PLUGIN(({.name = "mpi",
                .version = "1.0.0",
                .license = "Apache-2.0",
                .doc = "Runs of several processes on one machine or many."}),
              trivet::collective<&trivet::mpi::engine>(
                  "Mpi", "Processes that mpirun or Slurm starts, on one machine or many."))
