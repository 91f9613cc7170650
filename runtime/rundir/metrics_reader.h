// SPDX-License-Identifier: Apache-2.0
// Reads the metrics.jsonl of any run, also of one that is running or was killed in the middle of a
// line. Files may be damaged or of a later version: lines that are not records are counted and
// skipped.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rundir/metrics_record.h"

namespace trivet {

struct MetricsSeries {
  struct Point {
    std::int64_t step = 0;
    double value = 0;  // NaN if the run had no number
  };
  RecordKind kind = RecordKind::train;
  std::string name;
  std::vector<Point> points;  // in the order of the file
};

struct MetricsContent {
  std::vector<MetricsSeries> series;  // in the order of the first appearance of their names
  std::int64_t records = 0;
  std::int64_t unreadable = 0;  // complete lines that are not records
};

// Reads all names of values and rates, and the points of the requested ones. A line of more than 16
// MiB counts as unreadable. Throws RunError if the file cannot be read.
MetricsContent read_metrics(const std::filesystem::path& file,
                            const std::function<bool(RecordKind, std::string_view)>& wanted);

struct LastRecords {
  std::optional<MetricsRecord> train, eval;
};

// Reads the last record of each kind from the last `most_bytes` of the file, or from all of it.
// Nothing if the file does not exist. Throws RunError if it cannot be read.
LastRecords last_records(const std::filesystem::path& file,
                         std::optional<std::uint64_t> most_bytes = {});

}  // namespace trivet
