// SPDX-License-Identifier: Apache-2.0
#include "processes/launcher_task.h"

#include <array>

#include "trivet/os/environment.h"

namespace trivet {

LauncherTask launcher_task() {
  struct Variables {
    const char *launcher, *rank, *size;
  };
  // Open MPI's, and MPICH's. A batch job of Slurm has SLURM_NTASKS, too, but is one process.
  constexpr std::array<Variables, 3> kLaunchers = {{
      {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
      {"mpirun", "PMI_RANK", "PMI_SIZE"},
      {"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
  }};
  for (const Variables& variables : kLaunchers) {
    const auto rank = environment_number(variables.rank);
    const auto size = environment_number(variables.size);
    if (rank && size && *rank < *size) return {variables.launcher, *rank, *size};
  }
  return {};
}

}  // namespace trivet
