// SPDX-License-Identifier: Apache-2.0
#include "tracked_job.h"

#include <algorithm>
#include <utility>

namespace trivet::local {

using launch::JobStatus;

UnitJobs::UnitJobs(launch::WorkUnit of, launch::UnitRecords& records) : unit(std::move(of)) {
  for (const launch::Job& job : unit.jobs) {
    TrackedJob tracked;
    tracked.job = &job;
    tracked.status = records.status(unit.wid, job.name);
    jobs.push_back(std::move(tracked));
  }
}

bool UnitJobs::is_open() const {
  return std::any_of(jobs.begin(), jobs.end(),
                     [](const TrackedJob& tracked) { return tracked.is_open(); });
}

launch::DependencyAnswer UnitJobs::readiness(const TrackedJob& tracked) const {
  return launch::readiness_of(*tracked.job, [&](std::string_view name) -> const JobStatus* {
    for (const TrackedJob& other : jobs) {
      if (other.job->name == name) return &other.status;
    }
    return nullptr;
  });
}

}  // namespace trivet::local
