// SPDX-License-Identifier: Apache-2.0
// ExchangeProfile: what the exchanges of units of weights and gradients take in a step, and what a
// process computes between them, from steps that waited for each exchange where it began.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trivet/config.h"
#include "trivet/config/value.h"
#include "trivet/tensor/exchange_log.h"

namespace trivet {

TRIVET_ENUM(UnitExchange::Kind, gather, gather_of_stages, sum)

// A step of one process, in seconds of one clock.
struct MeasuredStep {
  double begin = 0, end = 0;
  std::vector<UnitExchange> exchanges{};
};

struct ExchangeProfile {
  struct Exchange {
    UnitExchange::Kind kind = UnitExchange::Kind::gather;
    std::uint64_t bytes = 0;     // of the unit
    bool is_beside = false;      // it can move beside a computation
    double compute_seconds = 0;  // from the end of the exchange before it, or of the step's begin
    double seconds = 0;          // of the transfer: how long the last process to come waits
    double waited_seconds = 0;   // of a process, for others and for the transfer; a mean
  };
  // Of processes that exchange the same units in the same order.
  struct Sequence {
    std::vector<std::int64_t> processes{};
    std::vector<Exchange> exchanges{};
    double rest_seconds = 0;  // from the last exchange to the end of the step
  };
  std::vector<Sequence> sequences{};
  std::int64_t steps = 0;  // measured

  bool is_empty() const;
};

// From the same steps of all processes, in the order of ranks. Of the times of an exchange in
// several steps the median counts; steps that exchange other units than the last one count not.
ExchangeProfile exchange_profile(const std::vector<std::vector<MeasuredStep>>& by_process);

// For JSON, and back. Throws RunError, with `source` as the name, for another form.
Value to_value(const std::vector<MeasuredStep>& steps);
std::vector<MeasuredStep> measured_steps(const Value& value, const std::string& source);
Value to_value(const ExchangeProfile& profile);
ExchangeProfile exchange_profile(const Value& value, const std::string& source);

}  // namespace trivet
