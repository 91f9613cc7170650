// SPDX-License-Identifier: Apache-2.0
// What each process of a run on a mesh has in memory.
#pragma once

#include <cstdint>
#include <vector>

#include "device/memory_share.h"
#include "trivet/backend/mesh.h"

namespace trivet {

// `kept` are the tensors of the model and of its learner (memory_parts), of which each process has
// all. Adds what the process makes of them: the sums of the gradients and states of its shards
// and micro-batches ("sums"), and what it exchanges with others ("exchange"), which is the largest
// of its exchanges. Without the memory of a step.
//
// The processes must be able to share the mesh (MeshLayout::can_share).
std::vector<MemoryPart> process_memory(std::vector<MemoryPart> kept, const MeshConfig& mesh,
                                       std::int64_t gradient_accumulation);

}  // namespace trivet
