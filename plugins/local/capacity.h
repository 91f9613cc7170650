// SPDX-License-Identifier: Apache-2.0
// Capacity: the resources that one experiment's jobs can still get, as of one read of the ledger.
// Jobs ask in order. A job that does not fit reserves what it wants, so later small jobs do not
// starve a large one. A job that wants none of the scarce resources does not wait.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "machine.h"
#include "resource_ledger.h"

namespace trivet::local {

struct Limits {
  Resources resources;     // of the machine, for this experiment
  std::int64_t jobs = 0;   // running jobs at a time
  bool bind_cores = true;  // pin each job to its own cores
};

class Capacity {
 public:
  Capacity(const Machine& machine, const Limits& limits, const std::vector<Allocation>& own,
           const std::vector<Allocation>& others, const std::vector<Reservation>& reservations);

  // Whether these jobs, which start together, fit. Reserves nothing.
  bool has_room(const Resources& want, std::int64_t jobs) const;
  // Whether these jobs, which start together, fit. If not, their wish is reserved for them.
  bool ask(const Resources& want, std::int64_t jobs);
  // The first request that failed only because other experiments use the machine.
  const std::optional<Resources>& waits_for_others() const { return waits_for_others_; }
  // Whether no more jobs can fit and the first job that waits for others has asked.
  bool is_full() const;

  // Takes the resources of one job and assigns cores and GPUs. The caller sets the owner.
  Allocation take(const Resources& want);

 private:
  const Limits& limits_;
  Resources left_here_;     // within this experiment's limits
  Resources left_machine_;  // next to other experiments
  std::int64_t jobs_left_;
  std::int64_t unbound_cores_ = 0;
  std::vector<int> free_cpus_;
  std::vector<std::string> free_gpus_;
  std::optional<Resources> waits_for_others_;
};

}  // namespace trivet::local
