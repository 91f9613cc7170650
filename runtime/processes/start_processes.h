// SPDX-License-Identifier: Apache-2.0
// start_processes: processes on this machine that communicate.
#pragma once

#include <string>
#include <vector>

#include "trivet/backend/collective.h"

namespace trivet {

// How SIGINT and SIGTERM reach the processes. Launchers hand on SIGUSR1, and end the processes
// themselves after the others; a run saves and stops after any.
enum class StopsBy { same_signal, sigusr1 };

// Runs the command as this many processes of the engine to their ends: by the engine's launcher, or
// each by itself. SIGINT and SIGTERM go to all; a second one, a second or more after the first,
// kills them. When one has ended otherwise than with 0, the others have ten seconds before they are
// killed, or three where a signal ended it. None outlives this process. Returns 0 or the first
// other exit code; 128 + N where signal N ended a process. With sigusr1 it is that of a run: 130 or
// 75 when it was asked to stop, 1 where a signal ended a process. Throws RunError: the system
// starts no process, the launcher is not installed. [main-thread]
int start_processes(const tv_collective& engine, int count, const std::vector<std::string>& command,
                    StopsBy stops_by = StopsBy::same_signal);

}  // namespace trivet
