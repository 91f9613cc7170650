// SPDX-License-Identifier: Apache-2.0
// Formats numbers for users.
#pragma once

#include <cstdint>
#include <string>

namespace trivet {

std::string format_duration(double seconds);     // "31 s", "2 m 05 s", "3 h 07 m"
std::string format_bytes(std::uint64_t bytes);   // "4.9 MB"
std::string format_rate(double per_second);      // "950", "38.1k"
std::string format_count(std::uint64_t number);  // "407,050"
std::string format_number(double number);        // for losses and metrics

}  // namespace trivet
