// SPDX-License-Identifier: Apache-2.0
#include "device/network.h"

#include <charconv>
#include <cmath>
#include <optional>
#include <system_error>

#include <fmt/core.h>

#include "trivet/config/bytes.h"
#include "trivet/config/duration.h"
#include "trivet/error.h"

namespace trivet {
namespace {

constexpr std::string_view kPerSecond = "/s";
constexpr std::string_view kFlopRate = "FLOP/s";

[[noreturn]] void refuse_network(std::string_view option, std::string_view part,
                                 std::string_view text, std::string_view expected) {
  throw UsageError(fmt::format("--{}: the {} is '{}'; {}", option, part, text, expected),
                   {.hint = fmt::format("--{} 5us,10GB/s is a latency and a bandwidth", option)});
}

double latency_of(std::string_view option, std::string_view text) {
  const std::optional<Duration> latency = parse_duration(text);
  if (!latency || latency->seconds < 0 || text.starts_with('-')) {
    refuse_network(option, "latency", text, "it must be a duration such as 5us or 0.2ms");
  }
  return latency->seconds;
}

double bandwidth_of(std::string_view option, std::string_view text) {
  const std::string_view expected = "it must be an amount of bytes per second such as 10GB/s";
  if (!text.ends_with(kPerSecond)) refuse_network(option, "bandwidth", text, expected);
  const std::string_view amount = text.substr(0, text.size() - kPerSecond.size());
  // parse_bytes takes blanks, numbers without a unit, and Slurm's units without a B.
  const std::optional<Bytes> bytes = parse_bytes(amount);
  const bool is_strict = amount.ends_with('B') && amount.find(' ') == std::string_view::npos;
  if (!is_strict || !bytes || bytes->count <= 0) {
    refuse_network(option, "bandwidth", text, expected);
  }
  return static_cast<double>(bytes->count);
}

std::optional<double> factor_of(std::string_view prefix) {
  if (prefix.empty()) return 1;
  const std::size_t found = std::string_view("kMGTP").find(prefix);
  if (prefix.size() != 1 || found == std::string_view::npos) return std::nullopt;
  return std::pow(1e3, static_cast<double>(found + 1));
}

}  // namespace

Network parse_network(std::string_view option, std::string_view text) {
  const std::size_t comma = text.find(',');
  if (comma == std::string_view::npos || text.find(',', comma + 1) != std::string_view::npos) {
    throw UsageError(
        fmt::format("--{} takes LATENCY,BANDWIDTH such as 5us,10GB/s, not '{}'", option, text));
  }
  return {.latency = latency_of(option, text.substr(0, comma)),
          .bandwidth = bandwidth_of(option, text.substr(comma + 1))};
}

std::string to_text(const Network& network) {
  return fmt::format("{:.2f}us,{:.1f}MB/s", network.latency * 1e6, network.bandwidth / 1e6);
}

double parse_flop_rate(std::string_view option, std::string_view text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  const std::string_view rest(stop, static_cast<std::size_t>(end - stop));
  if (error == std::errc{} && rest.ends_with(kFlopRate) && std::isfinite(number) && number > 0) {
    const auto factor = factor_of(rest.substr(0, rest.size() - kFlopRate.size()));
    if (factor) return number * *factor;
  }
  throw UsageError(
      fmt::format("--{} takes FLOP per second such as 275TFLOP/s, not '{}'", option, text));
}

}  // namespace trivet
