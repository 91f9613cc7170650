// SPDX-License-Identifier: Apache-2.0
// Checks a learning rate over a whole training.
#pragma once

#include <cstdint>
#include <string>

#include "trivet/schedule.h"

namespace trivet {

// Returns a warning about the learning rate in steps 0 to `train_steps` - 1: it is 0 from some step
// on, or it rises until the end, as in a warm-up that is longer than the training. Empty if there
// is no warning.
std::string schedule_warning(const Schedule& rate, std::int64_t train_steps);

}  // namespace trivet
