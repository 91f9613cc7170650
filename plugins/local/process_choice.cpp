// SPDX-License-Identifier: Apache-2.0
#include "process_choice.h"

#include <algorithm>
#include <cstddef>

namespace trivet::local {
namespace {

// The next smaller number that the job may have; 0: none.
std::int64_t fewer(const launch::Job& job, std::int64_t processes) {
  std::int64_t found = 0;
  for (const std::int64_t count : job.process_counts) {
    if (count < processes) found = count;
  }
  return found;
}

}  // namespace

Resources resources_of(std::span<const launch::Job* const> jobs,
                       std::span<const std::int64_t> processes) {
  Resources sum;
  for (std::size_t i = 0; i < jobs.size(); ++i) sum += resources_of(*jobs[i], processes[i]);
  return sum;
}

std::vector<std::int64_t> choose_processes(std::span<const launch::Job* const> jobs,
                                           const Capacity& capacity) {
  std::vector<std::int64_t> chosen;
  for (const launch::Job* job : jobs) chosen.push_back(job->processes);
  while (!capacity.has_room(resources_of(jobs, chosen), std::ssize(jobs))) {
    std::size_t next = jobs.size();
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const bool can_give = fewer(*jobs[i], chosen[i]) > 0;
      if (can_give && (next == jobs.size() || chosen[i] > chosen[next])) next = i;
    }
    if (next == jobs.size()) break;
    chosen[next] = fewer(*jobs[next], chosen[next]);
  }
  return chosen;
}

}  // namespace trivet::local
