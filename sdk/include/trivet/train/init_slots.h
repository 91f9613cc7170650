// SPDX-License-Identifier: Apache-2.0
// Loads the slots of an optimizer from the checkpoints that a model's weights were loaded from
// (init_checkpoint.h).
#pragma once

#include <cstddef>

#include "trivet/base/export.h"
#include "trivet/train/init_load.h"
#include "trivet/train/learner.h"

namespace trivet {

// The slots of the variables that `report` says were loaded, from optimizer.safetensors beside
// their weights, and the number of updates of the first source, as InitLoadConfig::load_slots.
// Floats are rounded to the type of the slot. Returns the number of slots. Throws RunError if the
// files do not have all of them in the right shape and type, or have others, which another
// optimizer made, unless `config.partial`; then nothing was changed. [run-thread]
TRIVET_API std::size_t load_slots(Learner& learner, const LoadReport& report,
                                  const InitLoadConfig& config);

}  // namespace trivet
