// SPDX-License-Identifier: Apache-2.0
// BestCheckpoints: keeps the checkpoints of a run that evaluated best, in `best/`:
//
//   best/step_00004000/     whole checkpoints, as in checkpoints/
//   best/best.json          {"metric": "accuracy", "goal": "max",
//                            "checkpoints": [{"step": 4000, "value": 0.91}, ...]}, the best first
//
// A value must be strictly better to replace another, and NaN is never
// among the best. A step that is trained anew is judged anew: its weights before are no longer
// those of the run. The record is read again by the process that continues the run, so a worse
// value after a restart replaces nothing. Each of these checkpoints has its value in its manifest,
// too, from which a record that is damaged or missing is made anew. [run-thread]
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_manager.h"
#include "trivet/train/logs.h"
#include "trivet/trainer.h"

namespace trivet {

class BestCheckpoints {
 public:
  struct Entry {
    std::int64_t step = 0;
    double value = 0;
  };

  // Reads the record. Throws RunError when it is of another metric. Nothing is made before the
  // first checkpoint is kept.
  BestCheckpoints(std::filesystem::path directory, BestCheckpointConfig config,
                  CheckpointManager::Warn warn);

  bool enabled() const { return !config_.metric.empty(); }
  // The value that `logs` give this step when it is one to keep. Throws RunError when the metric is
  // not among them.
  std::optional<double> wanted(std::int64_t step, const Logs& logs) const;

  // Keeps the checkpoint of this step: the one at `source`, or where that is empty what `fill`
  // gives. The worst one is removed when there are too many.
  std::filesystem::path keep(Entry entry, const std::filesystem::path& source,
                             const CheckpointManager::Fill& fill);

  const std::vector<Entry>& entries() const { return entries_; }  // the best first

 private:
  void check_rule(const Value& kept, const std::filesystem::path& source) const;
  void read_record();
  std::string take_record(const std::string& text);
  std::optional<Value> said_by(std::int64_t step) const;
  void rebuild(const std::string& damage);
  void insert(Entry entry);
  void remove_others();

  std::filesystem::path record_;
  BestCheckpointConfig config_;
  CheckpointManager::Warn warn_;
  CheckpointManager checkpoints_;
  std::vector<Entry> entries_;
};

}  // namespace trivet
