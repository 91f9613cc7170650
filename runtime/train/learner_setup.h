// SPDX-License-Identifier: Apache-2.0
// Builds the learner from the config of a trainer.
#pragma once

#include <memory>

#include "trivet/task.h"
#include "trivet/tensor/mesh_shards.h"
#include "trivet/trainer.h"

namespace trivet {

// Checks before the model is built: a missing learning rate, a batch that cannot be cut into
// gradient_accumulation equal parts. Throws ConfigError.
void check_learner(const TrainerConfig& trainer, const ConfigOf<Input>& train_input);

// The store must be built, with trainer.frozen applied. The learner's updates are of the gradients
// of these shards.
std::unique_ptr<Learner> make_learner(const TrainerConfig& config, Task& task,
                                      ParameterStore& store, const MeshShards& shards);

}  // namespace trivet
