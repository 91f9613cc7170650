// SPDX-License-Identifier: Apache-2.0
// part_traffic: what each process sends where several add up parts of a block, and gather them
// (MeshShards::sum_to_part, gather_parts), within its slice and to other slices.
#pragma once

#include <cstdint>
#include <vector>

#include "trivet/backend/mesh_layout.h"

namespace trivet {

// Processes that exchange, by rank.
struct TrafficGroup {
  std::vector<std::int64_t> ranks;
  // How many of each slice exchange within it first (MeshLayout::in_slice); 1: all with all.
  std::int64_t in_slice = 1;

  std::int64_t size() const { return std::ssize(ranks); }
  std::int64_t slices() const { return size() / in_slice; }
};

// The ranks with equal numbers as rank 0.
template <class Number>
std::vector<std::int64_t> ranks_as_first(std::int64_t processes, const Number& number) {
  std::vector<std::int64_t> ranks;
  for (std::int64_t rank = 0; rank < processes; ++rank) {
    if (number(rank) == number(0)) ranks.push_back(rank);
  }
  return ranks;
}

// Of a group the processes in other slices than its first one.
std::int64_t in_other_slices(const MeshLayout& layout, const TrafficGroup& group,
                             std::int64_t processes);

// The messages of an all_gather of so many bytes of each of several processes.
std::int64_t gather_messages(std::uint64_t bytes, std::int64_t processes);

class PartTraffic {
 public:
  PartTraffic(const MeshLayout& layout, std::int64_t processes);

  // In segments, or a unit at once: beside a computation (MeshShards::start_sum_to_part).
  enum class Cut { segments, unit };
  // Elements that each process of a group owns.
  using Parts = std::vector<std::int64_t>;
  void sum(const TrafficGroup& group, const Parts& parts, std::int64_t times, Cut cut);
  void gather(const TrafficGroup& group, const Parts& parts, std::int64_t times, Cut cut);

  struct Sent {
    std::int64_t calls = 0;
    std::int64_t messages = 0, floats = 0;                  // in all
    std::int64_t between_messages = 0, between_floats = 0;  // of them to other slices
  };
  // Of each the process that has most.
  Sent most() const;

 private:
  Sent& of(const TrafficGroup& group, std::size_t member);
  static void add(Sent& sent, std::int64_t times, const Sent& each);
  std::size_t slice_of(const TrafficGroup& group, std::size_t member) const;
  struct Slice {
    std::int64_t processes = 0, floats = 0;  // of the group, and of their parts
  };
  std::vector<Slice> by_slice(const TrafficGroup& group, const Parts& parts) const;
  void move(const TrafficGroup& group, const Parts& had, const Parts& gets, std::int64_t times);
  void sum_evenly(const TrafficGroup& group, const Parts& parts, std::int64_t times, Cut cut);
  void gather_evenly(const TrafficGroup& group, const Parts& parts, std::int64_t times, Cut cut);
  void sum_step(const TrafficGroup& group, const Parts& parts, std::int64_t times);
  void gather_step(const TrafficGroup& group, const Parts& parts, std::int64_t times);
  void gather_together(const TrafficGroup& group, std::int64_t longest, std::int64_t times);

  std::size_t slice_count_;
  std::vector<std::size_t> slices_;  // by rank
  std::vector<Sent> sent_;           // likewise
};

}  // namespace trivet
