// SPDX-License-Identifier: Apache-2.0
// RunningJobs: the jobs with a running attempt, each with a descriptor that signals the end of its
// shim.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <span>
#include <vector>

#include "resource_ledger.h"
#include "tracked_job.h"

namespace trivet::local {

class RunningJobs {
 public:
  struct Running {
    UnitJobs* unit;
    TrackedJob* tracked;
  };
  struct Ended {
    bool is_quiet = false;  // the wait timed out and nothing happened
    std::vector<Running> jobs;
  };

  RunningJobs() = default;
  RunningJobs(const RunningJobs&) = delete;
  RunningJobs& operator=(const RunningJobs&) = delete;
  ~RunningJobs();

  // Adds a running job. `shim` is 0 while its process id is unknown.
  void watch(UnitJobs& unit, TrackedJob& tracked, pid_t shim);
  void remove(TrackedJob& tracked);

  std::size_t size() const { return running_.size(); }
  bool has_unknown_shim() const;
  // The machine's resources that the jobs use.
  std::vector<Allocation> allocations() const;

  // Waits until a shim ends or one of `others` is ready, and sets their revents. Jobs without a
  // known shim are always returned: the caller must look for it.
  Ended wait(std::span<pollfd> others, int milliseconds) const;

 private:
  static void forget_shim(TrackedJob& tracked);

  std::vector<Running> running_;
};

}  // namespace trivet::local
