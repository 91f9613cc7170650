// SPDX-License-Identifier: Apache-2.0
// MetricsLog: metrics.jsonl, the metrics of a run, one JSON object per line:
//
//   {"step": 100, "kind": "train", "values": {"training_loss": 0.25, ...},
//    "rates": {"examples_per_second": 51200.0, ...}, "time": 1763690431.25}
//
// Steps ascend. `values` depend only on config and step; `rates` and `time` (seconds since 1970) do
// not. Numbers read back to the same bits; non-finite ones are null.
//
// A run that continues from a checkpoint drops the records of later steps, so that every record
// exists once. This applies to lines of any `kind` (a plugin or a later version may add its own). A
// line without a step is always kept.
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
  // Opens or creates the file. Throws RunError if it cannot be written.
  explicit MetricsLog(std::filesystem::path path);

  // Drops every line whose step is above `step`, and leftovers of a kill or power failure: lines
  // after the last kept one that are not JSON objects. All other lines stay unchanged.
  void truncate_after(std::int64_t step);

  // Drops only such an incomplete end: for a process that does not continue the training.
  void keep_all();

  // The current extent of the file, for a checkpoint; and a description of the lines that are
  // missing since a checkpoint, empty if none are.
  Value extent();
  std::string loss_since(const Value& extent) const;

  // Whether the last recorded step has a record of this kind.
  bool ends_with(RecordKind kind, std::int64_t step) const;

  // The step of the last record that was kept or appended. -1: none.
  std::int64_t last_step() const { return last_step_; }

  void append(RecordKind kind, std::int64_t step, const Logs& values, const Logs& rates);

  // Syncs appended lines to the disk.
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
