// SPDX-License-Identifier: Apache-2.0
// A supervisor's state of the jobs of its units.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "resource_ledger.h"
#include "trivet/launch/dependencies.h"
#include "trivet/launch/job.h"
#include "trivet/launch/unit_records.h"
#include "trivet/os/file.h"

namespace trivet::local {

using Clock = std::chrono::steady_clock;

// A job and its state.
struct TrackedJob {
  const launch::Job* job = nullptr;
  launch::JobStatus status;

  // Set while an attempt runs:
  bool runs = false;
  bool told_to_end = false;
  Allocation allocation;  // its owner is the shim
  UniqueFd shim_fd;       // tells of the shim's end; none while the shim is not known

  // Set while it waits:
  Clock::time_point not_before{};
  int short_runs = 0;  // consecutive short runs so far

  bool is_open() const { return !launch::is_final(status.state); }
};

struct UnitJobs {
  launch::WorkUnit unit;
  std::vector<TrackedJob> jobs;  // in the order of unit.jobs, to which they point

  UnitJobs(launch::WorkUnit of, launch::UnitRecords& records);
  UnitJobs(const UnitJobs&) = delete;
  UnitJobs& operator=(const UnitJobs&) = delete;

  bool is_open() const;
  launch::DependencyAnswer readiness(const TrackedJob& tracked) const;
};

}  // namespace trivet::local
