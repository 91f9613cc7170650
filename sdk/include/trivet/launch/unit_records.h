// SPDX-License-Identifier: Apache-2.0
// UnitRecords: what is known of the work units of an experiment, kept in its directory by the host.
//
//   XP_DIR/units.jsonl            a line for each work unit, in order of wid
//   XP_DIR/events.jsonl           a line for each change of a job's state
//   WU_DIR/jobs/NAME/1/           an attempt: stdout, stderr, started.json, exit.json (attempt.h)
//
// The state of a job is that of its last event. Events are appended by whoever learns of a change,
// from several processes; what a killed process could not append is found in exit.json later.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trivet/base/export.h"
#include "trivet/config.h"
#include "trivet/config/value.h"
#include "trivet/launch/job.h"
#include "trivet/os/file.h"

namespace trivet::launch {

enum class JobState {
  pending,    // not started yet
  queued,     // a cluster has it, and starts the attempt after `attempt`
  running,    //
  preempted,  // has saved (exit code 75) and starts again, or waits for `trivet resume`
  completed,  // exit code 0, and done where the job tells that (Job::tells_done)
  failed,     // another exit code, a signal, or its time was up
  cancelled,  //
  skipped,    // waits for a job that did not end as `after` asks
  lost,       // its process is gone and left no exit code
};
TRIVET_ENUM(JobState, pending, queued, running, preempted, completed, failed, cancelled, skipped,
            lost)

// Whether nothing more happens to the job by itself.
constexpr bool is_final(JobState state) {
  return state == JobState::completed || state == JobState::failed ||
         state == JobState::cancelled || state == JobState::skipped || state == JobState::lost;
}

struct JobStatus {
  JobState state = JobState::pending;
  std::int64_t attempt = 0;  // the last one that was started, from 1; 0: none
  // Starts that `retries` pays for, since launch or `trivet retry`: not those after preemption.
  std::int64_t failures = 0;
  std::optional<int> exit_code{};  // of a process that ended by itself
  int signal = 0;                  // that ended it
  double time = 0;                 // of the last change, seconds since 1970
  double started = 0;              // of the attempt; 0: never
  std::string host{};
  std::string detail{};  // why, for people; or an id of a cluster
};

struct JobEvent {
  std::int64_t wid = 0;
  std::string job;
  JobStatus status;
};

// A number that no unit has.
inline constexpr std::int64_t kWholeExperiment = 0;

class TRIVET_API UnitRecords {
 public:
  virtual ~UnitRecords();

  // All units, in order of wid. [main-thread]
  virtual std::vector<WorkUnit> units() = 0;
  // Makes a unit of a sweep's item, as `trivet launch` does for those of a sweep, and records it.
  // For orchestrators that find out what to try while they run. A unit of the same identity is
  // given back instead of a new one. The item's target is set here: the run's config where the
  // experiment has one. Throws ConfigError when the item does not fit the config. [main-thread]
  virtual WorkUnit add(const SweepItem& item) = 0;

  // As of the last refresh; pending for a job without events. [main-thread]
  virtual JobStatus status(std::int64_t wid, std::string_view job) = 0;
  // Appends to events.jsonl, all or none. Throws RunError. [main-thread]
  virtual void record(std::span<const JobEvent> events,
                      Durability durability = Durability::cached) = 0;

  // Whether `trivet cancel` has marked the unit. Of kWholeExperiment: no more units are to be
  // added. [main-thread]
  virtual bool is_cancelled(std::int64_t wid) = 0;

  // Reads what other processes have appended since; the functions above do not. [main-thread]
  virtual void refresh() = 0;
};

// Calls visit(unit, job, status) for each job of the units with these numbers.
template <class Visit>
void visit_jobs(UnitRecords& records, std::span<const std::int64_t> wids, Visit&& visit) {
  const std::set<std::int64_t> wanted(wids.begin(), wids.end());
  for (const WorkUnit& unit : records.units()) {
    if (!wanted.contains(unit.wid)) continue;
    for (const Job& job : unit.jobs) visit(unit, job, records.status(unit.wid, job.name));
  }
}

}  // namespace trivet::launch
