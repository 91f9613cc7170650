// SPDX-License-Identifier: Apache-2.0
// MetricsTally: aggregates the records of a run: the last record of each kind, and the lowest and
// highest value of each evaluation metric.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rundir/metrics_reader.h"
#include "rundir/metrics_record.h"

namespace trivet {

struct NumberRange {
  std::string name;
  double low = 0, high = 0;
  std::int64_t low_step = 0, high_step = 0;  // steps that reached them first
};

class MetricsTally {
 public:
  // `ranges`: those of earlier records.
  explicit MetricsTally(std::vector<NumberRange> ranges = {}) : ranges_(std::move(ranges)) {}

  // Adds the next line of metrics.jsonl. Skips lines that are not records.
  void take(std::string_view line);

  // The last records of the added lines, not of earlier ones.
  LastRecords last() const;
  // Non-finite numbers do not count.
  const std::vector<NumberRange>& ranges() const { return ranges_; }

 private:
  void take_record(MetricsRecord record);
  void widen(const std::string& name, double value, std::int64_t step);

  LastRecords last_;
  std::string train_line_;
  std::vector<NumberRange> ranges_;
};

}  // namespace trivet
