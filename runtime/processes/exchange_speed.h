// SPDX-License-Identifier: Apache-2.0
// exchange_speed: how fast processes form the sum of a buffer that each of them has.
#pragma once

#include <cstdint>
#include <vector>

#include "processes/world.h"

namespace trivet {

struct ExchangeSpeed {
  std::uint64_t bytes = 0;  // of the buffer of each process
  double seconds = 0;       // the shortest of several
};

// The exchange of a sum without its additions: each process sends a share of its buffer to each
// other (all_to_all), and gets all shares (all_gather). All processes make the call. Throws as
// World's calls.
std::vector<ExchangeSpeed> exchange_speeds(World& world);

}  // namespace trivet
