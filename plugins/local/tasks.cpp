// SPDX-License-Identifier: Apache-2.0
#include "tasks.h"

#include <algorithm>
#include <utility>

#include "trivet/launch/attempt.h"
#include "trivet/process.h"

namespace trivet::local {

using launch::AttemptInfo;
using launch::AttemptPhase;
using launch::JobState;
using launch::JobStatus;

UnitTasks::UnitTasks(launch::WorkUnit of, launch::UnitRecords& records) : unit(std::move(of)) {
  for (const launch::Job& job : unit.jobs) {
    Task task;
    task.job = &job;
    task.status = records.status(unit.wid, job.name);
    tasks.push_back(std::move(task));
  }
}

bool UnitTasks::is_open() const {
  return std::any_of(tasks.begin(), tasks.end(), [](const Task& task) { return task.is_open(); });
}

DependencyAnswer UnitTasks::readiness(const Task& task) const {
  return readiness_of(*task.job, [&](std::string_view name) -> const JobStatus* {
    for (const Task& other : tasks) {
      if (other.job->name == name) return &other.status;
    }
    return nullptr;
  });
}

std::optional<JobStatus> unrecorded_status(const launch::Job& job, const JobStatus& recorded) {
  const bool said_to_run =
      recorded.state == JobState::running || recorded.state == JobState::queued;
  const std::int64_t last = std::max(launch::last_attempt(job), recorded.attempt);
  // The end of an attempt that is recorded, and not as running, has been counted.
  if (last == 0 || (last == recorded.attempt && !said_to_run)) return std::nullopt;
  const AttemptInfo info = launch::read_attempt(job, last);
  switch (info.phase) {
    case AttemptPhase::running: {
      if (said_to_run && last == recorded.attempt) return std::nullopt;
      JobStatus status = info.status;
      status.failures = recorded.failures;
      return status;
    }
    case AttemptPhase::fresh: {
      // A keeper that was killed before its job began: the same attempt is made again.
      if (!said_to_run) return std::nullopt;
      JobStatus status = recorded;
      status.state = JobState::pending;
      status.attempt = std::max<std::int64_t>(last - 1, 0);
      status.time = unix_time();
      return status;
    }
    default:
      return launch::after_attempt(job, recorded, info.status);
  }
}

}  // namespace trivet::local
