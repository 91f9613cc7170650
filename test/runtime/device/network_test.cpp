// SPDX-License-Identifier: Apache-2.0
#include "device/network.h"

#include <catch2/catch.hpp>

#include "trivet/error.h"

namespace network_test {

using namespace trivet;
using Catch::Contains;

TEST_CASE("a network is a latency and a bandwidth with their units") {
  const Network ethernet = parse_network("network", "5us,10GB/s");
  CHECK(ethernet.latency == Approx(5e-6));
  CHECK(ethernet.bandwidth == 1e10);
  CHECK(parse_network("network", "0.2ms,125MB/s").latency == Approx(2e-4));
  CHECK(parse_network("network", "1s,1MiB/s").bandwidth == 1048576);
  CHECK(parse_network("network", "0us,1B/s").latency == 0);
  // 3 messages and 2e10 bytes.
  CHECK(ethernet.seconds(3, 20'000'000'000) == Approx(2 + 15e-6));

  const Network again =
      parse_network("network", to_text({.latency = 1.23e-5, .bandwidth = 4.56e9}));
  CHECK(again.latency == Approx(1.23e-5));
  CHECK(again.bandwidth == Approx(4.56e9));
}

TEST_CASE("a wrong network names its part and the form of it") {
  for (const char* text : {"", "5us", "5us;10GB/s", "5us,10GB/s,1", "10GB/s"}) {
    INFO(text);
    CHECK_THROWS_WITH(parse_network("network", text),
                      Contains("takes LATENCY,BANDWIDTH such as 5us,10GB/s"));
  }
  for (const char* text : {",10GB/s", "5,10GB/s", "-5us,10GB/s", "5 us,10GB/s", "10GB/s,5us"}) {
    INFO(text);
    CHECK_THROWS_WITH(parse_network("network", text),
                      Contains("the latency is") && Contains("a duration"));
  }
  for (const char* text : {"5us,", "5us,10GB", "5us,10G/s", "5us,10/s", "5us,0B/s", "5us,-1GB/s",
                           "5us,10 Gbit/s", "5us,10GB/ s", "5us, 10GB/s"}) {
    INFO(text);
    CHECK_THROWS_WITH(parse_network("network", text),
                      Contains("the bandwidth is") && Contains("10GB/s"));
  }
  CHECK_THROWS_AS(parse_network("network", "5us"), UsageError);
}

TEST_CASE("a speed is FLOP per second, with a prefix or none") {
  CHECK(parse_flop_rate("device-flops", "275TFLOP/s") == Approx(2.75e14));
  CHECK(parse_flop_rate("device-flops", "2.5e9FLOP/s") == Approx(2.5e9));
  CHECK(parse_flop_rate("device-flops", "1kFLOP/s") == Approx(1e3));
  CHECK(parse_flop_rate("device-flops", "1PFLOP/s") == Approx(1e15));
  for (const char* text : {"", "275", "275TFLOP", "TFLOP/s", "-1TFLOP/s", "0FLOP/s", "1XFLOP/s",
                           "1TTFLOP/s", "infFLOP/s", "1 TFLOP/s"}) {
    INFO(text);
    CHECK_THROWS_WITH(parse_flop_rate("device-flops", text),
                      Contains("--device-flops takes FLOP per second such as 275TFLOP/s"));
  }
}

}  // namespace network_test
