// SPDX-License-Identifier: Apache-2.0
#include "processes/exchange_speed.h"

#include <algorithm>
#include <limits>

#include "base/process_info.h"
#include "device/part_traffic.h"

namespace trivet {
namespace {

constexpr std::uint64_t kBytes[] = {std::uint64_t{4} << 10, std::uint64_t{1} << 20,
                                    std::uint64_t{16} << 20};
constexpr int kRepetitions = 8;

std::int64_t messages_of(std::uint64_t bytes, std::int64_t processes) {
  return processes - 1 + gather_messages(bytes / static_cast<std::uint64_t>(processes), processes);
}

}  // namespace

std::vector<ExchangeSpeed> exchange_speeds(World& world) {
  const auto count = static_cast<std::uint64_t>(world.size());
  std::vector<ExchangeSpeed> speeds;
  for (const std::uint64_t wanted : kBytes) {
    const std::uint64_t share = (wanted + count - 1) / count;
    std::vector<std::byte> buffer(share * count);
    std::vector<std::byte> shares(share * count);
    const std::vector<std::uint64_t> equal(count, share);
    double shortest = std::numeric_limits<double>::infinity();
    // The first one touches the memory.
    for (int time = 0; time <= kRepetitions; ++time) {
      const double start = steady_seconds();
      world.all_to_all(buffer, equal, shares, equal);
      world.all_gather(std::span(shares).first(share), buffer);
      if (time > 0) shortest = std::min(shortest, steady_seconds() - start);
    }
    speeds.push_back({.bytes = buffer.size(), .seconds = shortest});
  }
  return speeds;
}

Network network_of(const std::vector<ExchangeSpeed>& speeds, std::int64_t processes) {
  const ExchangeSpeed &shortest = speeds.front(), &longest = speeds.back();
  Network network;
  network.latency = shortest.seconds / static_cast<double>(messages_of(shortest.bytes, processes));
  const double waits = network.latency * static_cast<double>(messages_of(longest.bytes, processes));
  // Each process sends all but its own share, twice.
  const auto sent = static_cast<double>(2 * longest.bytes / static_cast<std::uint64_t>(processes) *
                                        static_cast<std::uint64_t>(processes - 1));
  network.bandwidth = sent / (waits < longest.seconds ? longest.seconds - waits : longest.seconds);
  return network;
}

}  // namespace trivet
