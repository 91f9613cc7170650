// SPDX-License-Identifier: Apache-2.0
// The parts of a learner, from the config of a trainer.
#pragma once

#include <vector>

#include "trivet/task.h"
#include "trivet/train/learner_options.h"
#include "trivet/trainer.h"

namespace trivet {

// Checks before the model is built: a missing learning rate, a batch that cannot be cut into
// gradient_accumulation equal parts. Throws ConfigError.
void check_learner(const TrainerConfig& trainer, const ConfigOf<Input>& train_input);

// Whether a process of so many shards that has parts of the weights (Trainer::shares_weights) has
// parts of the gradients, too: it has one pass in an update, and nothing reads gradients after it.
bool has_gradients_in_parts(const TrainerConfig& config, std::int64_t own_shards);
// Whether processes of a mesh along replica alone, whose updates are those of elements, exchange
// units of the weights while they compute (ParameterStore::Keeps::all): it must not depend on the
// number of processes, whose bits are equal.
bool exchanges_units(const TrainerConfig& config);

// Whether each process reads the gradients of all variables of a pass.
bool needs_all_gradients(const TrainerConfig& config);

struct LearnerParts {
  std::vector<LearnerRule> rules;
  LearnerOptions options;
};
LearnerParts learner_parts(const TrainerConfig& config, Task& task);

}  // namespace trivet
