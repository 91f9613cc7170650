// SPDX-License-Identifier: Apache-2.0
// Chooses how many exchanges are under way while a step computes (MeshConfig::overlap) from a
// profile of them.
#pragma once

#include <cstdint>
#include <vector>

#include "device/exchange_profile.h"

namespace trivet {

struct ExpectedStep {
  double seconds = 0;          // of the step
  double exposed_seconds = 0;  // of it those in which a process waits for exchanges of units
};

// A step with so many under way, of the processes that take longest. Units are gathered, and sums
// of gradients start, as in a run (sdk/src/layer/weight_parts.cpp, gradient_parts.cpp); transfers
// follow one another, in the order of their starts, and move whatever the process does.
ExpectedStep expected_step(const ExchangeProfile& profile, std::int64_t overlap);

// The bytes that a process needs for exchanges under way, at most.
std::uint64_t bytes_under_way(const ExchangeProfile& profile, std::int64_t overlap);

struct OverlapChoice {
  std::int64_t overlap = 0;
  std::vector<ExpectedStep> expected{};  // with 0, 1, ... under way, up to the most to choose from
};
// The smallest overlap, of at most `most`, that exposes at most 1 % of a step more than the best.
OverlapChoice choose_overlap(const ExchangeProfile& profile, std::int64_t most);

}  // namespace trivet
