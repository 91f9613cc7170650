// SPDX-License-Identifier: Apache-2.0
#include "processes/exchange_speed.h"

#include <catch2/catch.hpp>

namespace exchange_speed_test {

using namespace trivet;

TEST_CASE("a network explains the times of exchanges") {
  // Four processes: 3 messages to the others, and 2 of a gather; 3 of a long one.
  const double latency = 2e-5, bandwidth = 5e9;
  const std::uint64_t longest = std::uint64_t{16} << 20;
  const std::vector<ExchangeSpeed> speeds = {
      {.bytes = 4096, .seconds = 5 * latency},
      {.bytes = 1 << 20, .seconds = 1},  // not looked at
      {.bytes = longest,
       .seconds = 6 * latency + 2 * 0.75 * static_cast<double>(longest) / bandwidth}};
  const Network network = network_of(speeds, 4);
  CHECK(network.latency == Approx(latency));
  CHECK(network.bandwidth == Approx(bandwidth));
}

TEST_CASE("a network has a bandwidth even where waits explain all of the time") {
  const Network network =
      network_of({{.bytes = 4096, .seconds = 1}, {.bytes = 1 << 24, .seconds = 0.5}}, 2);
  CHECK(network.bandwidth == Approx((1 << 24) / 0.5));
}

}  // namespace exchange_speed_test
