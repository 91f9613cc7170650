// SPDX-License-Identifier: Apache-2.0
// What a supervisor knows of the jobs of its units.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "ledger.h"
#include "trivet/launch/dependencies.h"
#include "trivet/launch/job.h"
#include "trivet/launch/unit_records.h"

namespace trivet::local {

using Clock = std::chrono::steady_clock;

// A job and its state.
struct Task {
  const launch::Job* job = nullptr;
  launch::JobStatus status;

  // While an attempt runs:
  bool runs = false;
  bool told_to_end = false;
  Row row;             // its owner is the keeper
  int keeper_fd = -1;  // tells of the keeper's end; -1 while the keeper is not known

  // While it waits:
  Clock::time_point not_before{};
  int short_runs = 0;  // one after the other, up to now

  bool is_open() const { return !launch::is_final(status.state); }
};

struct UnitTasks {
  launch::WorkUnit unit;
  std::vector<Task> tasks;  // in order of unit.jobs, to which they point

  UnitTasks(launch::WorkUnit of, launch::UnitRecords& records);
  UnitTasks(const UnitTasks&) = delete;
  UnitTasks& operator=(const UnitTasks&) = delete;

  bool is_open() const;
  launch::DependencyAnswer readiness(const Task& task) const;
};

}  // namespace trivet::local
