// SPDX-License-Identifier: Apache-2.0
#include "capacity.h"

#include <algorithm>

namespace trivet::local {
namespace {

template <class T>
void remove_all(std::vector<T>& from, const std::vector<T>& what) {
  std::erase_if(
      from, [&](const T& item) { return std::find(what.begin(), what.end(), item) != what.end(); });
}

template <class T>
std::vector<T> take_first(std::vector<T>& from, std::int64_t count) {
  const auto end = from.begin() + std::min<std::int64_t>(count, std::ssize(from));
  std::vector<T> taken(from.begin(), end);
  from.erase(from.begin(), end);
  return taken;
}

}  // namespace

Capacity::Capacity(const Machine& machine, const Limits& limits, const std::vector<Allocation>& own,
                   const std::vector<Allocation>& others,
                   const std::vector<Reservation>& reservations)
    : limits_(limits),
      left_here_(limits.resources),
      left_machine_(machine.resources()),
      jobs_left_(limits.jobs - std::ssize(own)),
      free_cpus_(machine.cpus),
      free_gpus_(machine.gpus) {
  // If the user sets more cores than the machine has, the setting applies to all experiments.
  left_machine_.cores = std::max(left_machine_.cores, limits.resources.cores);
  left_machine_.memory_bytes = std::max(left_machine_.memory_bytes, limits.resources.memory_bytes);
  for (const auto* allocations : {&own, &others}) {
    for (const Allocation& allocation : *allocations) {
      left_machine_ -= allocation.taken;
      if (allocation.cpus.empty()) unbound_cores_ += allocation.taken.cores;
      remove_all(free_cpus_, allocation.cpus);
      remove_all(free_gpus_, allocation.gpus);
    }
  }
  for (const Allocation& allocation : own) left_here_ -= allocation.taken;
  for (const Reservation& reservation : reservations) left_machine_ -= reservation.wanted;
}

bool Capacity::has_room(const Resources& want, std::int64_t jobs) const {
  return jobs <= jobs_left_ && left_here_.hold(want) && left_machine_.hold(want);
}

bool Capacity::ask(const Resources& want, std::int64_t jobs) {
  const bool here = jobs <= jobs_left_ && left_here_.hold(want);
  const bool machine = left_machine_.hold(want);
  if (here && machine) return true;
  if (here && !waits_for_others_) waits_for_others_ = want;
  jobs_left_ -= jobs;
  left_here_ -= want;
  left_machine_ -= want;
  return false;
}

bool Capacity::is_full() const {
  const bool machine_is_full = left_machine_.cores <= 0 && waits_for_others_;
  return jobs_left_ <= 0 || left_here_.cores <= 0 || machine_is_full;
}

Allocation Capacity::take(const Resources& want) {
  --jobs_left_;
  left_here_ -= want;
  left_machine_ -= want;
  Allocation allocation{.owner = {}, .taken = want};
  // Unpinned jobs of other experiments need cores, too.
  if (limits_.bind_cores && std::ssize(free_cpus_) - unbound_cores_ >= want.cores) {
    allocation.cpus = take_first(free_cpus_, want.cores);
  } else {
    unbound_cores_ += want.cores;
  }
  allocation.gpus = take_first(free_gpus_, want.gpus);
  return allocation;
}

}  // namespace trivet::local
