// SPDX-License-Identifier: Apache-2.0
// exchange_speed: how fast processes form the sum of a buffer that each of them has.
#pragma once

#include <cstdint>
#include <vector>

#include "device/network.h"
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

// The network for which step_exchanges predicts these times, of at least two processes: its latency
// is the time of the shortest buffer, shared by its messages, and its bandwidth explains the rest
// of the time of the longest.
Network network_of(const std::vector<ExchangeSpeed>& speeds, std::int64_t processes);

}  // namespace trivet
