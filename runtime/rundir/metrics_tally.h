// SPDX-License-Identifier: Apache-2.0
// MetricsTally: what the records of a run come to: the last of each kind and, of every value of
// evaluations, the lowest and the highest so far.
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
  std::int64_t low_step = 0, high_step = 0;  // where they were reached first
};

class MetricsTally {
 public:
  // `ranges`: of records that were taken before.
  explicit MetricsTally(std::vector<NumberRange> ranges = {}) : ranges_(std::move(ranges)) {}

  // The next line of metrics.jsonl; one that is no record is left out.
  void take(std::string_view line);

  // Of the lines that were taken, not of those before.
  LastRecords last() const;
  // Numbers that are not finite do not count.
  const std::vector<NumberRange>& ranges() const { return ranges_; }

 private:
  void take_record(MetricsRecord record);
  void widen(const std::string& name, double value, std::int64_t step);

  LastRecords last_;
  std::string train_line_;
  std::vector<NumberRange> ranges_;
};

}  // namespace trivet
