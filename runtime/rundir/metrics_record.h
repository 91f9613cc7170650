// SPDX-License-Identifier: Apache-2.0
// A record of metrics.jsonl (its form stands in metrics_log.h), as it is read.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "trivet/config/value.h"
#include "trivet/train/logs.h"

namespace trivet {

enum class RecordKind { train, eval };
std::string_view name_of(RecordKind kind);

struct MetricsRecord {
  RecordKind kind = RecordKind::train;
  std::int64_t step = 0;
  Logs values, rates;  // null is NaN
};

// A line of any kind, also of one that only a later version or a plugin knows.
struct AnyRecord {
  std::optional<std::int64_t> step;    // nothing where it has none that is a whole number from 0 on
  std::optional<MetricsRecord> known;  // with a step
};

// A line without a kind is one of an evaluation, by a program that is no run: its numbers may stand
// beside the step.
// Nothing for a line that is no JSON object: damaged or cut short. Members that are not known are
// left out.
std::optional<AnyRecord> parse_any_record(std::string_view line);
// Nothing for a kind that is not known, too.
std::optional<MetricsRecord> parse_record(std::string_view line);

// As they stand in JSON: null for what is not finite.
Value json_number(double number);
Value json_numbers(const Logs& numbers);

}  // namespace trivet
