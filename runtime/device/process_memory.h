// SPDX-License-Identifier: Apache-2.0
// What each process of a run on a mesh has in memory.
#pragma once

#include <cstdint>
#include <vector>

#include "device/memory_share.h"
#include "trivet/backend/mesh.h"

namespace trivet {

struct ProcessTraining {
  std::int64_t gradient_accumulation = 1;
  bool shares_updates = false;  // Trainer::shares_updates
};

// `kept` are the tensors of the model and of its learner (memory_parts). Each process has all of
// them, or its part of slots and averages where processes share updates: the part of rank 0, which
// is the largest. Adds what the process makes of them: the sums of the gradients and states of its
// shards and micro-batches ("sums"), and what it exchanges with others ("exchange"), which is the
// largest of its exchanges. Without the memory of a step, and without that of a checkpoint, for
// which rank 0 has whole copies of slots and averages while it saves. The buffers for the exchange
// of blocks along mdl depend on the layers and are not counted.
//
// The processes must be able to share the mesh (MeshLayout::can_share).
std::vector<MemoryPart> process_memory(std::vector<MemoryPart> kept, const MeshConfig& mesh,
                                       const ProcessTraining& training);

// The devices along mdl alone, which compute blocks of the layers, and the processes that share
// them: a step of it has the memory of that of one shard. The processes must be able to share the
// mesh.
MeshConfig mesh_of_layers(const MeshConfig& whole);

}  // namespace trivet
