// SPDX-License-Identifier: Apache-2.0
// MetricsLog: metrics.jsonl, the numbers of a run, one JSON object a line:
//
//   {"step": 100, "kind": "train", "values": {"training_loss": 0.25, ...},
//    "rates": {"examples_per_second": 51200.0, ...}, "time": 1763690431.25}
//
// Steps ascend. `values` are a function of config and step alone; `rates` and `time` (seconds since
// 1970) are not. Numbers read back to the same bits; one that is not finite is null.
//
// A run that continues from a checkpoint drops the records of later steps, so that every record
// stands there once. That holds for lines of any `kind` (a plugin or a later version may add its
// own); one without a step is kept, wherever it stands.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "rundir/metrics_extent.h"
#include "rundir/metrics_record.h"
#include "trivet/os/file.h"
#include "trivet/train/logs.h"

namespace trivet {

class MetricsLog {
 public:
  // Opens or makes the file. Throws RunError when it cannot be written.
  explicit MetricsLog(std::filesystem::path path);

  // Drops every line whose step is above `step`, and what a kill or a power cut has left at the
  // end: lines that are no JSON objects, behind the last that is kept. All else stays as it is.
  void truncate_after(std::int64_t step);

  // Drops nothing but such an unfinished end: for a process that does not go on with the training.
  void keep_all();

  // How far the file goes now, for a checkpoint; and what is missing of what a checkpoint says,
  // empty where nothing is.
  Value extent();
  std::string loss_since(const Value& extent) const;

  // Whether the last step that has records has one of this kind.
  bool ends_with(RecordKind kind, std::int64_t step) const;

  // Of the last record that was kept or appended; -1: none.
  std::int64_t last_step() const { return last_step_; }

  void append(RecordKind kind, std::int64_t step, const Logs& values, const Logs& rates);

  // Puts what was appended on the disk.
  void sync();

 private:
  struct Range {
    std::uint64_t begin, end;
  };
  std::vector<Range> kept_until(std::int64_t step, std::uint64_t size);
  void keep(const std::vector<Range>& ranges, std::uint64_t size);
  void note(RecordKind kind, std::int64_t step);

  std::filesystem::path path_;
  UniqueFd file_;
  MetricsExtent extent_;
  std::string line_;
  std::int64_t last_step_ = -1;
  bool has_train_ = false, has_eval_ = false;  // at last_step_
};

}  // namespace trivet
