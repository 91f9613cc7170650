// SPDX-License-Identifier: Apache-2.0
// Resource use of this process, in addition to process.h, which works for any process.
#pragma once

#include <cstdint>
#include <filesystem>

#include "trivet/os/process.h"

namespace trivet {

// Seconds since the kernel started this process (its clock ticks every 10 ms; the start counts from
// the beginning of the tick, so this is never too short).
double seconds_since_process_start();

// Seconds on a clock that never jumps.
double steady_seconds();

struct ProcessUsage {
  double cpu_seconds = 0;  // of all threads, user and system
  std::int64_t page_faults = 0;
  std::int64_t peak_resident_bytes = 0;
};
ProcessUsage process_usage();

// The executable of this program, to start child processes.
std::filesystem::path own_program();

}  // namespace trivet
