// SPDX-License-Identifier: Apache-2.0
// Which process, on which machine, since which boot: what a file says so that somebody can find out
// later whether the process that wrote it is still there. A process id alone is used again.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "trivet/base/export.h"

namespace trivet {

TRIVET_API double unix_time();  // seconds since 1970, to the millisecond

TRIVET_API std::string host_name();

// Of the running kernel: differs after a reboot, so a process id of before means nothing.
TRIVET_API std::string boot_id();

// When a process started, in clock ticks since boot (proc(5)); with its id it names one process
// only. 0: there is none, or it has ended and waits for its parent. Allocates nothing, so it may be
// asked between a fork and what follows.
TRIVET_API std::int64_t start_ticks(pid_t pid) noexcept;

}  // namespace trivet
