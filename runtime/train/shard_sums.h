// SPDX-License-Identifier: Apache-2.0
// ShardSums: what a training adds up between two lines of metrics beside the loss: the metrics and
// the numbers of steps, apart for each shard of a mesh, and the numbers of whole updates.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "step/shard_metrics.h"
#include "train/running_means.h"
#include "trivet/train/learner.h"

namespace trivet {

class ShardSums {
 public:
  // Builds the training metrics; throws as ShardMetrics does.
  ShardSums(Task& task, ShardRange shards);

  Metrics& metrics(std::int64_t shard) { return metrics_.of(shard); }
  // What train_step of a shard gave. On a mesh of several shards the norm of the update, which
  // comes with the last one, is left to add_update.
  void add(std::int64_t shard, const Logs& logs, const Learner::Update& update);
  // Numbers of an update, the same for all shards.
  void add_update(const Logs& logs);
  void reset();

  // One for each shard of this process, in their order. Those of all processes, in the order of the
  // mesh, are what merged() and save() take.
  std::vector<Value> states() const;
  // The results of the metrics, then the means.
  Logs merged(std::span<const Value> of_all_shards);
  // Of a process that has all shards.
  Logs results();

  // "logs" and "metrics" of a single shard, "logs" of the updates and "shards" of several, and
  // "metric_names".
  void save(Value& trainer_state, std::span<const Value> of_all_shards) const;
  // Takes the sums of another number of shards into the first shard. False if they are of other
  // metrics, which then start empty.
  bool restore(const Value& trainer_state);

  // The sums of this process, to undo a step.
  Value snapshot() const;
  void put_back(const Value& snapshot);

 private:
  ShardRange shards_;
  ShardMetrics metrics_;
  std::vector<LogMeans> logs_;
  LogMeans update_logs_;  // of several shards
};

}  // namespace trivet
