// SPDX-License-Identifier: Apache-2.0
#include "rundir/metrics_tally.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace trivet {
namespace {

// Most lines are training records, of which only the last counts. MetricsLog writes the kind at
// this early position, so they can be skipped. Other lines are parsed.
bool is_surely_train(std::string_view line) {
  return line.substr(0, 64).find("\"kind\":\"train\"") != std::string_view::npos &&
         line.ends_with('}');
}

}  // namespace

void MetricsTally::take(std::string_view line) {
  if (is_surely_train(line)) {
    train_line_ = line;
  } else if (std::optional<MetricsRecord> record = parse_record(line)) {
    take_record(std::move(*record));
  }
}

LastRecords MetricsTally::last() const {
  LastRecords last = last_;
  if (std::optional<MetricsRecord> record = parse_record(train_line_)) {
    last.train = std::move(record);
  }
  return last;
}

void MetricsTally::take_record(MetricsRecord record) {
  if (record.kind == RecordKind::train) {
    train_line_.clear();
    last_.train = std::move(record);
    return;
  }
  for (const auto& [name, value] : record.values) {
    if (std::isfinite(value)) widen(name, value, record.step);
  }
  last_.eval = std::move(record);
}

void MetricsTally::widen(const std::string& name, double value, std::int64_t step) {
  const auto found = std::find_if(ranges_.begin(), ranges_.end(),
                                  [&](const NumberRange& range) { return range.name == name; });
  if (found == ranges_.end()) {
    ranges_.push_back({name, value, value, step, step});
    return;
  }
  if (value < found->low) {
    found->low = value;
    found->low_step = step;
  }
  if (value > found->high) {
    found->high = value;
    found->high_step = step;
  }
}

}  // namespace trivet
