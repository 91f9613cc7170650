// SPDX-License-Identifier: Apache-2.0
// Capacity: what is left of this machine for the jobs of one experiment, in one look at the ledger.
// Jobs ask in their order. One that finds no room keeps what it wants from those behind it, so a
// large job is not overtaken by small ones for ever, and a job that wants nothing of what is scarce
// does not wait.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "machine.h"
#include "resource_ledger.h"

namespace trivet::local {

struct Limits {
  Resources resources;     // of the machine, for this experiment
  std::int64_t jobs = 0;   // at once
  bool bind_cores = true;  // each job to cores of its own
};

class Capacity {
 public:
  Capacity(const Machine& machine, const Limits& limits, const std::vector<Allocation>& own,
           const std::vector<Allocation>& others, const std::vector<Reservation>& reservations);

  // Whether these jobs, which start together, fit; when not, what they want is kept for them.
  bool ask(const Resources& want, std::int64_t jobs);
  // What asked and failed only because others use the machine: the first one.
  const std::optional<Resources>& waits_for_others() const { return waits_for_others_; }
  // Nothing more can fit, and who is first to wait for others has asked.
  bool is_full() const;

  // Takes what one job wants, with the cores and GPUs it is to use. The owner is the caller's to
  // fill in.
  Allocation take(const Resources& want);

 private:
  const Limits& limits_;
  Resources left_here_;     // within this experiment's limits
  Resources left_machine_;  // beside other experiments
  std::int64_t jobs_left_;
  std::int64_t unbound_cores_ = 0;
  std::vector<int> free_cpus_;
  std::vector<std::string> free_gpus_;
  std::optional<Resources> waits_for_others_;
};

}  // namespace trivet::local
