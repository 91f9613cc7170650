// SPDX-License-Identifier: Apache-2.0
// Network: how long processes take to send data. A message of n bytes takes latency + n / bandwidth
// seconds (Hockney 1994, The communication challenge for MPP).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace trivet {

struct Network {
  double latency = 0;    // seconds of a message of no bytes
  double bandwidth = 1;  // bytes that a process sends per second

  double seconds(std::int64_t messages, std::uint64_t bytes) const {
    return static_cast<double>(messages) * latency + static_cast<double>(bytes) / bandwidth;
  }
};

// Within a slice of a mesh, and between slices.
struct Networks {
  Network within, between;
};

// "5us,10GB/s": a duration, and an amount of bytes with its unit per second. Throws UsageError that
// names `option`, the part at fault and the form that it must have.
Network parse_network(std::string_view option, std::string_view text);
// Such a text, in 1/100 us and 1/10 MB/s.
std::string to_text(const Network& network);

// FLOP per second: "275TFLOP/s", with no prefix or one of k, M, G, T, P. Throws UsageError that
// names `option`.
double parse_flop_rate(std::string_view option, std::string_view text);

}  // namespace trivet
