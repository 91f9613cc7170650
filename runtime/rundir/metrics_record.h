// SPDX-License-Identifier: Apache-2.0
// A record read from metrics.jsonl (see metrics_log.h for the format).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "trivet/config.h"
#include "trivet/config/value.h"
#include "trivet/train/logs.h"

namespace trivet {

enum class RecordKind { train, eval };
TRIVET_ENUM(RecordKind, train, eval)

struct MetricsRecord {
  RecordKind kind = RecordKind::train;
  std::int64_t step = 0;
  Logs values, rates;  // null is NaN
};

// A line of any kind, including kinds of later versions or plugins.
struct AnyRecord {
  std::optional<std::int64_t> step;    // unset unless it is a whole number of at least 0
  std::optional<MetricsRecord> known;  // with a step
};

// A line without a kind is an evaluation by a program other than trivet: its numbers may be next to
// the step. Nothing for a line that is not a JSON object (damaged or incomplete). Ignores unknown
// members.
std::optional<AnyRecord> parse_any_record(std::string_view line);
// Nothing also for an unknown kind.
std::optional<MetricsRecord> parse_record(std::string_view line);

// As in JSON: null for non-finite numbers.
Value json_number(double number);
Value json_numbers(const Logs& numbers);

}  // namespace trivet
