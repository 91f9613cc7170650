// SPDX-License-Identifier: Apache-2.0
//
// What a config must comply with to be run, beyond being a good config.
#pragma once

#include "config/resolver.h"

namespace trivet {

// Throws ConfigError: a mode that evaluates needs data to evaluate with, of the task, of a task in
// it or of a stage of the trainer.
void check_run(const ResolvedConfig& config);

}  // namespace trivet
