// SPDX-License-Identifier: Apache-2.0
// A record of metrics.jsonl (its form stands in metrics_log.h), as it is read.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "trivet/logs.h"
#include "trivet/value.h"

namespace trivet {

enum class RecordKind { train, eval };
std::string_view name_of(RecordKind kind);

struct MetricsRecord {
  RecordKind kind = RecordKind::train;
  std::int64_t step = 0;
  Logs values, rates;  // null is NaN
};

// Nothing for a line that is no record: damaged, cut short, of a kind that only a later version
// knows. Members that are not known are left out.
std::optional<MetricsRecord> parse_record(std::string_view line);

// As they stand in JSON: null for what is not finite.
Value json_number(double number);
Value json_numbers(const Logs& numbers);

}  // namespace trivet
