// SPDX-License-Identifier: Apache-2.0
// The plugin "mpi": processes communicate by MPI.
#include "trivet/plugin.h"

#include "mpi/engine.h"

TRIVET_PLUGIN(({.name = "mpi",
                .version = "1.0.0",
                .license = "Apache-2.0",
                .doc = "Communication between processes by MPI."}),
              trivet::collective<&trivet::mpi::engine>(
                  "Mpi", "Communication between processes that mpirun starts."))
