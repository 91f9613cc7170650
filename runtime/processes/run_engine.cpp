// SPDX-License-Identifier: Apache-2.0
#include "processes/run_engine.h"

#include <utility>

#include <fmt/core.h>

#include "processes/launcher_task.h"
#include "processes/world.h"
#include "trivet/error.h"

namespace trivet {
namespace {

RunEngine engine_of(const std::string& key) {
  RunEngine found{.key = key, .engine = &collective_engine(key, "mesh.collective")};
  found.engine->launched(&found.rank, &found.size);
  return found;
}

}  // namespace

RunEngine run_engine(const MeshConfig& mesh, std::span<const std::string> keys) {
  if (!mesh.collective.empty()) return engine_of(mesh.collective);
  RunEngine first;
  bool starts_itself = false;
  for (const std::string& key : keys) {
    RunEngine found = engine_of(key);
    if (found.is_launched()) return found;
    const bool needs_no_launcher =
        found.engine->launcher == nullptr || found.engine->launcher(2) == nullptr;
    if (!first.key.empty() && (starts_itself || !needs_no_launcher)) continue;
    starts_itself = needs_no_launcher;
    first = std::move(found);
  }
  if (!first.key.empty()) return first;
  throw ConfigError(Diagnostic{.path = "mesh.processes",
                               .what = "is " + std::to_string(mesh.processes) +
                                       ", and no plugin offers an engine between processes",
                               .hint = "trivet plugins lists what was found; set mesh.processes=1 "
                                       "for the same results from one process"});
}

void refuse_lone_tasks(const RunEngine& engine, const MeshConfig& mesh) {
  const LauncherTask task = launcher_task();
  if (engine.is_launched() || task.size == 1) return;
  throw ConfigError(Diagnostic{
      .path = "mesh.processes",
      .what =
          fmt::format("is {}, and {} has started {} processes that do not find each other by {}",
                      mesh.processes, task.launcher, task.size, engine.key),
      .hint = "mesh.collective=mpi/Mpi, and srun --mpi=pmix for Open MPI, --mpi=pmi2 for MPICH; or "
              "one process with the cores of all and --processes N"});
}

}  // namespace trivet
