// SPDX-License-Identifier: Apache-2.0
// Determines the states of jobs from the records, the files of attempts, and Slurm's queue.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "commands.h"
#include "submissions.h"
#include "trivet/launch/dependencies.h"
#include "trivet/launch/job.h"
#include "trivet/launch/unit_records.h"

namespace trivet::slurm {

// Where Slurm has a job of a unit.
struct JobLocation {
  std::optional<TaskLocation> location;  // of its last submission
  std::string job_id;                    // of the array; empty if unknown
  const QueueEntry* entry = nullptr;     // null if Slurm does not know it (any more)

  std::string id() const;  // of the task: "12_3"

  // Whether Slurm will start the job, or has. False if its task is about to end: the job has ended
  // for good and is wanted again.
  bool is_live(const launch::JobStatus& recorded) const;
  // Whether Slurm holds the job since it failed to start it on its node.
  bool is_held(const launch::JobStatus& recorded) const;

 private:
  bool is_submitted(const launch::JobStatus& recorded) const;
};

JobLocation location_of(std::int64_t wid, const launch::Job& job, const Submissions& submissions,
                        const Queue& queue);

// What is wanted of the unit that a job belongs to.
enum class UnitWish { run, cancel };

// The job's status now; `recorded` when there is nothing new. `dependency` is what its `after`
// comes to.
launch::JobStatus status_now(const launch::Job& job, const launch::JobStatus& recorded,
                             const JobLocation& at, UnitWish wish,
                             const launch::DependencyAnswer& dependency);

// Whether the job has ended by its records or its attempt, whatever Slurm has of it.
bool has_ended(const launch::Job& job, const launch::JobStatus& recorded);

// Whether the change needs no record.
bool is_same(const launch::JobStatus& a, const launch::JobStatus& b);

// Returns a unit's jobs, each after the jobs that it waits for.
std::vector<const launch::Job*> in_order(const launch::WorkUnit& unit);

// The statuses of a unit's jobs, for dependencies.
class UnitStatuses {
 public:
  UnitStatuses(const launch::WorkUnit& unit, launch::UnitRecords& records);

  launch::JobStatus& of(const launch::Job& job);
  launch::DependencyAnswer readiness(const launch::Job& job) const;

 private:
  const launch::WorkUnit& unit_;
  std::vector<launch::JobStatus> statuses_;
};

}  // namespace trivet::slurm
