// SPDX-License-Identifier: Apache-2.0
// What a learning rate does over a whole training.
#pragma once

#include <cstdint>
#include <string>

#include "trivet/schedule.h"

namespace trivet {

// What is odd about a learning rate in steps 0 to `train_steps` - 1, for a warning; empty where
// nothing is: it is 0 from some step on, or still rises at the end and has never done anything
// else, as in a warm-up that is longer than the training.
std::string schedule_warning(const Schedule& rate, std::int64_t train_steps);

}  // namespace trivet
