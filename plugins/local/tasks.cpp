// SPDX-License-Identifier: Apache-2.0
#include "tasks.h"

#include <algorithm>
#include <utility>

namespace trivet::local {

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

launch::DependencyAnswer UnitTasks::readiness(const Task& task) const {
  return launch::readiness_of(*task.job, [&](std::string_view name) -> const JobStatus* {
    for (const Task& other : tasks) {
      if (other.job->name == name) return &other.status;
    }
    return nullptr;
  });
}

}  // namespace trivet::local
