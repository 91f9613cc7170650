// SPDX-License-Identifier: Apache-2.0
// The training state of a DefaultTrainer, shared by its source files.
#pragma once

#include <memory>
#include <optional>

#include "train/default_trainer.h"
#include "train/divergence_guard.h"
#include "train/replica_check.h"
#include "train/running_means.h"
#include "train/shard_sums.h"
#include "train/shards.h"
#include "trivet/train/learner.h"

namespace trivet {

struct DefaultTrainer::Training {
  Training(Device& device, const TrainerConfig& config) : loss(device), bad_steps(config) {}

  std::unique_ptr<Learner> learner;
  std::optional<Shards> shards;   // with the learner
  std::optional<ShardSums> sums;  // with the input
  std::optional<ReplicaCheck> replicas;
  std::unique_ptr<Input> input;
  LossMean loss;
  DivergenceGuard bad_steps;
  // The current step was added to the sums, but may be rejected.
  bool in_doubt = false;

  // Their state before the step, if steps may be skipped.
  struct Before {
    Tensor states;
    Value sums;
  } before;
};

}  // namespace trivet
