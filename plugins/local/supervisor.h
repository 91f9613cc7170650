// SPDX-License-Identifier: Apache-2.0
// Supervisor: starts the jobs of an experiment when resources are free, and records their results,
// until all have ended. It sleeps until a shim ends, the host sends a notification, or a job may be
// retried.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "capacity.h"
#include "cgroup_location.h"
#include "machine.h"
#include "resource_ledger.h"
#include "running_jobs.h"
#include "tracked_job.h"
#include "trivet/launch/orchestrator.h"

namespace trivet::local {

struct SupervisorOptions {
  double grace_seconds = 30;
  bool fail_fast = false;
  bool cgroups = true;
};

class Supervisor {
 public:
  Supervisor(launch::UnitRecords& records, const Machine& machine, const Limits& limits,
             const SupervisorOptions& options);
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  void run(const launch::Supervision& supervision);

 private:
  // For jobs that declare their memory. Runs at the first such job.
  void find_cgroup_location();

  // Reads the records: new units, canceled jobs, retries.
  void read_records();
  void take_up(UnitJobs& unit, TrackedJob& tracked);
  void reopen(UnitJobs& unit);
  void cancel(UnitJobs& unit, const std::string& why);
  void end(const UnitJobs& unit, TrackedJob& tracked);
  void tell(const UnitJobs& unit, TrackedJob& tracked, const std::string& why);
  bool write_events();  // false if they cannot be written now

  // Skips jobs that can never start.
  void skip_hopeless();
  void admit();
  void renew_reservation(const Capacity& capacity, const ResourceLedger::Page& page);
  // Starts all jobs of the unit that wait for no other job together, the others one by one.
  void admit_from(UnitJobs& unit, Capacity& capacity);
  void admit_together(UnitJobs& unit, const std::vector<TrackedJob*>& together, Capacity& capacity);
  // Requests resources for the first job that may start; false if none may.
  bool admit_one(UnitJobs& unit, std::vector<TrackedJob*>& waiting, Capacity& capacity);
  void start(UnitJobs& unit, TrackedJob& tracked, std::int64_t processes, Capacity& capacity);
  void postpone(const UnitJobs& unit, TrackedJob& tracked, const std::string& why);
  void pause(TrackedJob& tracked);

  // Watches running jobs and records their ends.
  void watch(UnitJobs& unit, TrackedJob& tracked, pid_t shim);
  void collect(UnitJobs& unit, TrackedJob& tracked);
  void settle(const UnitJobs& unit, TrackedJob& tracked, const launch::JobStatus& attempt);

  void wait(int wake_fd);
  int wait_milliseconds();
  bool is_done();
  void set_state(const UnitJobs& unit, TrackedJob& tracked, const launch::JobStatus& status);

  launch::UnitRecords& records_;
  const Machine& machine_;
  const Limits limits_;
  const SupervisorOptions options_;
  ResourceLedger ledger_;
  std::optional<Reservation> reservation_;
  std::optional<CgroupLocation> cgroups_;

  std::deque<UnitJobs> units_;    // by wid
  std::vector<UnitJobs*> order_;  // start order: higher priority first, then wid
  std::size_t first_open_ = 0;    // all units before it in order_ have ended
  RunningJobs running_;
  std::vector<launch::JobEvent> events_;  // not recorded yet
  bool can_write_ = true;
  Clock::time_point try_again_at_ = Clock::time_point::max();
  bool rows_changed_ = false;
  Clock::time_point read_at_{};
  Clock::duration read_took_{};
  bool has_news_ = true;
};

}  // namespace trivet::local
