// SPDX-License-Identifier: Apache-2.0
// The shards of a mesh in one process: each step trains them one after another, as the devices of
// the mesh would at once, and adds what they give in the order of the mesh.
//
// Every shard starts from the states (running means of norms) of the step's start. Afterwards they
// are the mean of what the shards have left.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "trivet/backend/sum_tree.h"
#include "trivet/layer/parameter_store.h"
#include "trivet/task.h"
#include "trivet/tensor/canonical_sum.h"
#include "trivet/tensor/random.h"

namespace trivet {

class Shards {
 public:
  // The store must be built, and outlive this.
  Shards(const SumTree& tree, ParameterStore& store);

  std::int64_t count() const { return tree_.size(); }
  const SumTree& tree() const { return tree_; }

  // The batches of each shard for train_step: as many for each. Throws RunError for a batch that
  // makes no equal shards.
  std::vector<std::vector<Batch>> cut(Task& task, const Batch& batch,
                                      std::int64_t gradient_accumulation) const;
  // The key of one shard's random numbers in a step; that of the step for a single shard.
  RngKey key_of(RngKey step, std::int64_t shard) const;

  // Around the shards of a step, in this order.
  void begin_step();
  void end_shard();

 private:
  const SumTree tree_;
  ParameterStore& store_;
  Tensor start_;                        // states at the start of the step
  std::optional<CanonicalSum> states_;  // none: a single shard, or a model without states
  std::int64_t done_ = 0;
};

}  // namespace trivet
