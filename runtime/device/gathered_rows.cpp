// SPDX-License-Identifier: Apache-2.0
#include "device/gathered_rows.h"

#include <fmt/core.h>

#include "device/step_exchanges.h"
#include "trivet/backend/mesh_layout.h"

namespace trivet {

std::string why_rows_are_gathered(const MeshConfig& mesh, const RowUse& use) {
  const std::int64_t shards = MeshLayout(mesh).shards(), processes = mesh.processes;
  if (use.rows.empty() || shards == 1) return {};
  if (processes == 1) return "there is one process";
  if (const std::int64_t sharing = processes_of_shard(mesh); sharing > 1) {
    return fmt::format("{} processes share a shard", sharing);
  }
  if (const std::int64_t own = MeshLayout(mesh).shards_of(0, processes).count; own > 1) {
    return fmt::format("each process has {} shards, and needs to have one", own);
  }
  if (!use.has_parts) return "the processes have whole weights";
  if (use.has_whole_variables) return "the optimizer updates whole variables";
  if (use.gradient_accumulation > 1) {
    return fmt::format("trainer.gradient_accumulation is {}", use.gradient_accumulation);
  }
  if (!use.has_gradients_in_parts) {
    return "trainer.gradient_clip.each_part or summary_histograms needs whole gradients";
  }
  for (const std::int64_t rows : use.rows) {
    if (rows % processes != 0) return fmt::format("{} processes do not divide {}", processes, rows);
    if (rows == processes) {
      return fmt::format("{} processes would have 1 of {} each, and a process needs 2", processes,
                         rows);
    }
  }
  return use.moves_rows ? "" : "the part of a process does not end where one of them does";
}

}  // namespace trivet
