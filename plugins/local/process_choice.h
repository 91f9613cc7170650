// SPDX-License-Identifier: Apache-2.0
// Chooses how many processes each job has of those that are to start together.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "capacity.h"
#include "trivet/launch/job.h"

namespace trivet::local {

// For each job the number of processes: the largest of its process_counts with which all fit, the
// job with the most processes giving way first. The fewest of each where nothing fits.
std::vector<std::int64_t> choose_processes(std::span<const launch::Job* const> jobs,
                                           const Capacity& capacity);

// What the jobs take with these numbers of processes.
Resources resources_of(std::span<const launch::Job* const> jobs,
                       std::span<const std::int64_t> processes);

}  // namespace trivet::local
