// SPDX-License-Identifier: Apache-2.0
// What each process of a run on a mesh has in memory.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "device/memory_share.h"
#include "trivet/backend/mesh.h"
#include "trivet/layer/weight_share.h"

namespace trivet {

struct ProcessTraining {
  std::int64_t gradient_accumulation = 1;
  bool shares_updates = false;  // Trainer::shares_updates
  // Of processes that have parts of the weights (Trainer::shares_weights); nothing: they have all.
  std::optional<WeightShare> weights = {};
  // Of processes that have all weights, and share updates by whole variables.
  std::optional<WeightShare> updates = {};
  bool has_gradients_in_parts = false;
};

// `kept` are the tensors of the model and of its learner (memory_parts). Each process has all of
// them, or its part of slots and averages where processes share updates, and of weights and
// gradients where they share these: that of the process that has most. Adds what the process
// makes of them: the weights that are whole at once ("gathered"), the sums of the gradients and
// states of its shards and micro-batches ("sums"), and what it exchanges with others ("exchange"),
// which is the largest of its exchanges. Without the memory of a step, which has gradients in parts
// while they are whole; without that of an evaluation, for which a process has all weights; and
// without that of a checkpoint, for which rank 0 has whole copies while it saves. The buffers for
// the exchange of blocks along mdl depend on the layers and are not counted.
//
// The processes must be able to share the mesh (MeshLayout::can_share).
std::vector<MemoryPart> process_memory(std::vector<MemoryPart> kept, const MeshConfig& mesh,
                                       const ProcessTraining& training);

// The devices along mdl and stage alone, which compute blocks of the layers and some of them, and
// the processes that share them: a step of it has the memory of that of one shard. The processes
// must be able to share the mesh.
MeshConfig mesh_of_layers(const MeshConfig& whole);

// The number of shards of a process that has parts of the weights; 0: processes have whole weights.
std::int64_t shards_with_parts(const MeshConfig& mesh, bool shares_weights);
// That of a process which may update parts of the weights, and keep all (ParameterStore::Keeps):
// on a mesh along replica. 0: one process, or a mesh whose processes have parts.
std::int64_t shards_that_keep(const MeshConfig& mesh, bool shares_weights);

}  // namespace trivet
