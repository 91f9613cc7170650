// SPDX-License-Identifier: Apache-2.0
// RunningJobs: the jobs of which an attempt runs, each with a descriptor that tells of the end of
// its shim.
#pragma once

#include <span>
#include <vector>

#include <poll.h>
#include <sys/types.h>

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
    bool is_quiet = false;  // the time was up, and nothing has happened
    std::vector<Running> jobs;
  };

  RunningJobs() = default;
  RunningJobs(const RunningJobs&) = delete;
  RunningJobs& operator=(const RunningJobs&) = delete;
  ~RunningJobs();

  // From now on it runs. `shim` is 0 as long as it is not known who keeps it.
  void watch(UnitJobs& unit, TrackedJob& tracked, pid_t shim);
  void remove(TrackedJob& tracked);

  std::size_t size() const { return running_.size(); }
  bool has_unknown_shim() const;
  // What they take of the machine.
  std::vector<Allocation> allocations() const;

  // Waits for the first end of a shim, or for one of `others`, whose revents it sets. Those
  // without a known shim are told every time: somebody must look.
  Ended wait(std::span<pollfd> others, int milliseconds) const;

 private:
  static void forget_shim(TrackedJob& tracked);

  std::vector<Running> running_;
};

}  // namespace trivet::local
