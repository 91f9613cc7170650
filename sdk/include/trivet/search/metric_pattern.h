// SPDX-License-Identifier: Apache-2.0
// MetricPattern: one number of all metrics whose names fit a pattern, as Pax' automl.Metric with an
// aggregator makes it:
//
//   mean(eval/*/accuracy)    the mean over all evaluation sets
//
// All functions may be called from any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "trivet/base/export.h"
#include "trivet/config/enums.h"

namespace trivet::search {

// Those of Pax' MetricAggregator.
enum class Aggregate { mean, max, min, sum };
TRIVET_ENUM(Aggregate, mean, max, min, sum)

struct MetricPattern {
  Aggregate aggregate = Aggregate::mean;
  std::string pattern{};
};

// Nothing for a text that is no aggregate of a pattern with a star.
TRIVET_API std::optional<MetricPattern> parse_metric_pattern(std::string_view text);

// Whether `name` fits `pattern`, in which * is any text without a slash, also none.
TRIVET_API bool fits_pattern(std::string_view name, std::string_view pattern);

// NaN if one of the numbers, of which there is at least one, is not finite.
TRIVET_API double aggregate_of(Aggregate aggregate, std::span<const double> numbers);

}  // namespace trivet::search
