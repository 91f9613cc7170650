// SPDX-License-Identifier: Apache-2.0
#include "room.h"

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

Room::Room(const Machine& machine, const Limits& limits, const std::vector<Row>& own,
           const std::vector<Row>& others, const std::vector<Ticket>& tickets)
    : limits_(limits),
      left_here_(limits.resources),
      left_machine_(machine.resources()),
      jobs_left_(limits.jobs - std::ssize(own)),
      free_cpus_(machine.cpus),
      free_gpus_(machine.gpus) {
  // Somebody who says that the machine has more cores than it has means it for all.
  left_machine_.cores = std::max(left_machine_.cores, limits.resources.cores);
  left_machine_.memory_bytes = std::max(left_machine_.memory_bytes, limits.resources.memory_bytes);
  for (const auto* rows : {&own, &others}) {
    for (const Row& row : *rows) {
      left_machine_ -= row.taken;
      if (row.cpus.empty()) unbound_cores_ += row.taken.cores;
      remove_all(free_cpus_, row.cpus);
      remove_all(free_gpus_, row.gpus);
    }
  }
  for (const Row& row : own) left_here_ -= row.taken;
  for (const Ticket& ticket : tickets) left_machine_ -= ticket.wanted;
}

bool Room::ask(const Resources& want, std::int64_t jobs) {
  const bool here = jobs <= jobs_left_ && left_here_.hold(want);
  const bool machine = left_machine_.hold(want);
  if (here && machine) return true;
  if (here && !waits_for_others_) waits_for_others_ = want;
  jobs_left_ -= jobs;
  left_here_ -= want;
  left_machine_ -= want;
  return false;
}

bool Room::is_full() const {
  const bool machine_is_full = left_machine_.cores <= 0 && waits_for_others_;
  return jobs_left_ <= 0 || left_here_.cores <= 0 || machine_is_full;
}

Row Room::take(const Resources& want) {
  --jobs_left_;
  left_here_ -= want;
  left_machine_ -= want;
  Row row{.owner = {}, .taken = want};
  // Jobs of others that are bound to no core need some, too.
  if (limits_.bind_cores && std::ssize(free_cpus_) - unbound_cores_ >= want.cores) {
    row.cpus = take_first(free_cpus_, want.cores);
  } else {
    unbound_cores_ += want.cores;
  }
  row.gpus = take_first(free_gpus_, want.gpus);
  return row;
}

}  // namespace trivet::local
