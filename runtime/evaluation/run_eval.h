// SPDX-License-Identifier: Apache-2.0
// RunEval: the program "eval": the mean loss, the metrics and the aggregated logs of the task.
//
// On a mesh of several shards each batch is cut into one part for each shard. All sums are kept by
// shard and merged in the order of the mesh.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "evaluation/program.h"
#include "step/shard_metrics.h"
#include "trivet/extensions/predictor.h"

namespace trivet {

class RunEval final : public Program {
 public:
  // Other shards are of the other processes; null: this one has all. `predictor` gives the outputs;
  // may be null. Throws as ShardMetrics does.
  RunEval(Task& task, ShardRange shards, ProcessGroup* processes = nullptr,
          const Predictor* predictor = nullptr);

  void begin() override;
  // Runs the parts of this process's shards. A batch that makes no equal parts goes as a whole to
  // the shard of its number modulo that of shards; parts of padding alone are left out.
  void add(const Batch& batch, const ProgramStep& step) override;
  // Where processes have parts of the weights, one that has no part of a batch while others have
  // some computes along.
  bool runs_alike() const override { return predictor_ == nullptr; }
  // Of several processes the first one has the numbers, and the others none.
  Logs result(std::int64_t global_step) override;

  // One for each shard of this process, in their order.
  std::vector<Value> states() const;
  // The numbers of the states of all shards of the mesh, in its order. If the task aggregates logs,
  // this process must have the first shard that did; its aggregated logs end with the call.
  Logs merged(std::span<const Value> of_all_shards, std::int64_t global_step);

 private:
  struct Sums {
    double loss = 0, weight = 0;
    std::unique_ptr<AggregatedLogs> aggregated;
  };
  void add_part(std::int64_t shard, const Batch& part, const ProgramStep& step);
  void add_part_of_mesh(std::int64_t shard, const Batch& part, const ProgramStep& step,
                        std::int64_t first_example);
  void compute_along(const Batch& part, const ProgramStep& step);
  void check_aggregated(const StepOutput& output);
  std::unique_ptr<ParameterStore::Whole> whole_if(bool reduces) const;
  Logs numbers(double loss, double weight, std::span<const Value> metrics);
  void reduce(AggregatedLogs& aggregated, std::int64_t global_step, Logs& logs);
  std::unique_ptr<AggregatedLogs> merged_aggregated(std::span<const Value> of_all_shards);

  Task& task_;
  const Predictor* predictor_;
  ProcessGroup* processes_;
  ShardMetrics metrics_;
  std::vector<Sums> sums_;           // by shard of this process
  ParameterStore* store_ = nullptr;  // of the last batch
  std::int64_t batches_ = 0;
  bool aggregated_checked_ = false;
};

}  // namespace trivet
