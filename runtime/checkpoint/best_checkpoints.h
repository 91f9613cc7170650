// SPDX-License-Identifier: Apache-2.0
// BestCheckpoints: keeps the checkpoints of a run with the best evaluations, in `best/`:
//
//   best/step_00004000/     complete checkpoints, as in checkpoints/
//   best/best.json          {"metric": "accuracy", "goal": "max",
//                            "checkpoints": [{"step": 4000, "value": 0.91}, ...]}, the best first
//
// A value must be strictly better to replace another. NaN is never among the best. If a step is
// trained again, its new value replaces the old one, because the old weights are no longer those of
// the run. The process that continues the run reads the record, so a worse value after a restart
// replaces nothing. Each checkpoint also has its value in its manifest, from which a damaged or
// missing record is rebuilt. [run-thread]
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

  // Reads the record. Throws RunError if it is for another metric. Creates nothing until the first
  // checkpoint is kept.
  BestCheckpoints(std::filesystem::path directory, BestCheckpointConfig config,
                  CheckpointManager::Warn warn);

  // As CheckpointManager::share.
  void share(OtherWriters& others) { checkpoints_.share(others); }

  bool enabled() const { return !config_.metric.empty(); }
  const std::string& metric() const { return config_.metric; }
  // The value of this step in `logs`, if the step must be kept. Throws RunError if `logs` lack the
  // metric.
  std::optional<double> wanted(std::int64_t step, const Logs& logs) const;

  // Keeps the checkpoint of this step: the one at `source`, or the data of `fill` if `source` is
  // empty. Removes the worst one if there are too many.
  std::filesystem::path keep(Entry entry, const std::filesystem::path& source,
                             const CheckpointManager::Fill& fill);

  // Writes the record again if it was missing or damaged.
  void repair();

  const std::vector<Entry>& entries() const { return entries_; }  // best first

 private:
  void check_rule(const Value& kept, const std::filesystem::path& source) const;
  void read_record();
  void write_record();
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
  bool rebuilt_ = false;  // from the manifests, and not written yet
};

}  // namespace trivet
