// SPDX-License-Identifier: Apache-2.0
// ShardMetrics: the metrics of a task, apart for each shard of a mesh. Their results are those of
// the states of all shards, merged in the order of the mesh: the same bits for any number of
// processes that share the shards.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trivet/metric.h"
#include "trivet/task.h"
#include "trivet/tensor/random.h"

namespace trivet {

// Neighboring shards of a mesh, those of one process: [first, first + count) of `total`.
struct ShardRange {
  std::int64_t first = 0, count = 1, total = 1;

  static ShardRange all(std::int64_t shards) { return {0, shards, shards}; }
  bool several() const { return total > 1; }
  bool has(std::int64_t shard) const { return shard >= first && shard < first + count; }
  std::int64_t end() const { return first + count; }
  // The index of a shard of this process among them. Throws Error for another.
  std::size_t index_of(std::int64_t shard) const;
  // The key of a shard's random numbers, from that of the step; the step's for a single shard.
  RngKey key_of(RngKey step, std::int64_t shard) const;
};

class ShardMetrics {
 public:
  // Builds the metrics of each shard of this process. Throws ConfigError if two report numbers of
  // one name and, on a mesh of several shards, for a metric that cannot be merged.
  ShardMetrics(Task& task, Phase phase, ShardRange shards);

  const ShardRange& shards() const { return shards_; }
  Metrics& of(std::int64_t shard) { return metrics_[shards_.index_of(shard)]; }
  // Of no shard: merged() forgets what they are given. On a mesh of several shards.
  Metrics& uncounted() { return sums_; }
  Value names() const { return names_; }  // of the results before any batch
  void reset();

  // The states of a shard's metrics, in their order.
  Value state_of(std::int64_t shard) const;
  void restore(std::int64_t shard, const Value& states);
  // Replaces the sums of a shard by those of several states, merged in their order.
  void restore_merged(std::int64_t shard, std::span<const Value> states);
  // The results of the states of all shards of the mesh, in its order. A single shard is read
  // directly.
  Logs merged(std::span<const Value> of_all_shards);

 private:
  ShardRange shards_;
  std::vector<Metrics> metrics_;
  Metrics sums_;  // of all shards; none for a single one
  Value names_;
};

}  // namespace trivet
