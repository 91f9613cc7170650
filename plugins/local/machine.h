// SPDX-License-Identifier: Apache-2.0
// The resources of this machine, and sums of what jobs use.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trivet/launch/job.h"

namespace trivet::local {

struct Resources {
  std::int64_t cores = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t gpus = 0;

  Resources& operator+=(const Resources& other);
  Resources& operator-=(const Resources& other);
  // Whether `want` fits in these resources. Resources that it does not want may be overdrawn.
  bool hold(const Resources& want) const;
};

Resources resources_of(const launch::Job& job);
// The same with another number of processes (Job::process_counts).
Resources resources_of(const launch::Job& job, std::int64_t processes);
// The smallest number of processes that an attempt of the job may have.
std::int64_t fewest_processes(const launch::Job& job);

struct Machine {
  std::vector<int> cpus;          // that this process may use
  std::int64_t memory_bytes = 0;  // of the machine or its container
  std::vector<std::string> gpus;  // as CUDA_VISIBLE_DEVICES names them

  Resources resources() const;
};

// NVIDIA GPUs: those in CUDA_VISIBLE_DEVICES if it is set, else all that the driver lists.
Machine this_machine();

}  // namespace trivet::local
