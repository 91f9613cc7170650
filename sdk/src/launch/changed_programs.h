// SPDX-License-Identifier: Apache-2.0
// What runs from where it lies may have changed since the launch.
#pragma once

#include <string>
#include <vector>

#include "trivet/launch/job.h"

namespace trivet::launch {

// A sentence for each of Job::programs that is no longer what it was.
std::vector<std::string> changed_programs(const Job& job);

}  // namespace trivet::launch
