// SPDX-License-Identifier: Apache-2.0
// Rules that a valid config must also meet to be run.
#pragma once

#include "config/resolver.h"

namespace trivet {

// Throws ConfigError if a mode evaluates but no eval input is set, in the task, in one of its tasks
// or in a stage of the trainer.
void check_run(const ResolvedConfig& config);

}  // namespace trivet
