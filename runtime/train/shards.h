// SPDX-License-Identifier: Apache-2.0
// The shards of a mesh that this process has: each step trains them one after another, as the
// devices of the mesh would at once, and adds what all shards give in the order of the mesh.
//
// Every shard starts from the states (running means of norms) of the step's start. Afterwards they
// are the mean of what the shards have left.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "trivet/layer/parameter_store.h"
#include "trivet/task.h"
#include "trivet/tensor/canonical_sum.h"
#include "trivet/tensor/mesh_shards.h"

namespace trivet {

class Shards {
 public:
  // The store must be built, and outlive this.
  Shards(const MeshShards& shards, ParameterStore& store);

  const MeshShards& mesh() const { return mesh_; }

  // Whether a batch is of all shards, or of those of this process.
  enum class BatchOf { all_shards, own_shards };
  // The batches of each shard of this process for train_step: as many for each. Throws RunError for
  // a batch that makes no equal shards.
  std::vector<std::vector<Batch>> cut(Task& task, const Batch& batch, BatchOf of,
                                      std::int64_t gradient_accumulation) const;
  // The mean over the examples of all shards, from that of each shard of this process.
  Tensor mean(const std::vector<WeightedScalar>& of_shards) const;

  // Around the shards of a step, in this order.
  void begin_step();
  void end_shard();

 private:
  const MeshShards mesh_;
  ParameterStore& store_;
  Tensor start_;                        // states at the start of the step
  std::optional<CanonicalSum> states_;  // none: one shard in all, or a model without states
  std::int64_t done_ = 0;
};

}  // namespace trivet
