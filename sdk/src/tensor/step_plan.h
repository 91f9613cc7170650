// SPDX-License-Identifier: Apache-2.0
// The memory of a step, planned: what a recorded step asked for and gave back, and in which order,
// and positions in one arena that respect it. A replaying step is compared with the record event by
// event, so a position is handed out only while everything that may lie on it is known to be free.
#pragma once

#include <cstdint>
#include <vector>

namespace trivet {

// Everything a step asked of memory, in order.
struct StepRecord {
  std::vector<std::uint64_t> sizes;  // bytes, by number of allocation
  // Number of an allocation that was made, or ~number when it was given back.
  std::vector<std::int32_t> events;
};

struct StepPlan {
  StepRecord record;
  std::vector<std::uint64_t> offsets;  // in the arena; kNoPlace for what outlived the step
  std::uint64_t arena_bytes = 0;
  std::uint64_t lower_bound = 0;  // most bytes alive at once
  std::uint64_t last_used = 0;    // step

  static constexpr std::uint64_t kNoPosition = ~std::uint64_t{0};
  bool escapes(std::int32_t number) const {
    return offsets[static_cast<std::size_t>(number)] == kNoPosition;
  }
};

// Positions by decreasing size, each at the lowest offset that is free over its whole lifetime.
// This comes within a few percent of the lower bound on training steps; finding the optimum is
// NP-hard. The cost is the square of the number of allocations, so those of very long steps beyond
// some thousands, the smallest ones, are placed above these in the order of the step. An allocation
// escapes when it was not given back in `record`, or says so in `escaped`.
StepPlan solve(StepRecord record, const std::vector<bool>& escaped);

}  // namespace trivet
