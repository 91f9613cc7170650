// SPDX-License-Identifier: Apache-2.0
// Starts the processes of a run.
#pragma once

#include <span>
#include <string>

#include "processes/run_engine.h"

namespace trivet {

// Runs `trivet run` with these words as `count` processes, and returns the exit code of the run.
// Throws as start_processes. [main-thread]
int start_run(const RunEngine& engine, int count, std::span<const std::string> words);

}  // namespace trivet
