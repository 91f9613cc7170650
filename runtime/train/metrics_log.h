// SPDX-License-Identifier: Apache-2.0
// MetricsLog: metrics.jsonl, the numbers of a run, one JSON object a line:
//
//   {"step": 100, "kind": "train", "values": {"training_loss": 0.25, ...},
//    "rates": {"examples_per_second": 51200.0, ...}, "time": 1763690431.25}
//
// Steps ascend. `values` are a function of config and step alone; `rates` and `time` (seconds since
// 1970) are not. A run that continues from a checkpoint cuts the file behind the checkpoint's step,
// so that every record stands there once. Numbers read back to the same bits; one that is not
// finite is null.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "train/file_io.h"
#include "train/metrics_record.h"
#include "trivet/logs.h"

namespace trivet {

class MetricsLog {
 public:
  // Opens or makes the file. Throws RunError when it cannot be written.
  explicit MetricsLog(std::filesystem::path path);

  // Cuts off every record after `step`, and an unfinished line at the end.
  void truncate_after(std::int64_t step);

  // Whether the last step that has records has one of this kind.
  bool ends_with(RecordKind kind, std::int64_t step) const;

  // Of the last record that was kept or appended; -1: none.
  std::int64_t last_step() const { return last_step_; }

  void append(RecordKind kind, std::int64_t step, const Logs& values, const Logs& rates);

  // Puts what was appended on the disk.
  void sync();

 private:
  void note(RecordKind kind, std::int64_t step);

  std::filesystem::path path_;
  FileHandle file_;
  std::string line_;
  std::int64_t last_step_ = -1;
  bool has_train_ = false, has_eval_ = false;  // at last_step_
};

}  // namespace trivet
