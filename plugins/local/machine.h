// SPDX-License-Identifier: Apache-2.0
// What this machine has for jobs, and sums of what they take.
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
  // Whether `want` can be taken from this. What it does not want may be overdrawn.
  bool hold(const Resources& want) const;
};

Resources resources_of(const launch::Job& job);

struct Machine {
  std::vector<int> cpus;          // that this process may use
  std::int64_t memory_bytes = 0;  // of the machine, or of the container it looks like
  std::vector<std::string> gpus;  // as CUDA_VISIBLE_DEVICES names them

  Resources resources() const;
};

// NVIDIA's GPUs: those that CUDA_VISIBLE_DEVICES names where it is set, else all that the driver
// knows.
Machine this_machine();

}  // namespace trivet::local
