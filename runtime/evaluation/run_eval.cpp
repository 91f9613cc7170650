// SPDX-License-Identifier: Apache-2.0
#include "evaluation/run_eval.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/core.h>

#include "checkpoint/state_value.h"
#include "evaluation/run_infer.h"
#include "step/batch_size.h"
#include "step/gather_states.h"
#include "step/step_parts.h"
#include "trivet/error.h"

namespace trivet {
namespace {

// Empty if the batch makes no equal parts.
std::vector<Batch> equal_parts(Task& task, const Batch& batch, std::int64_t shards) {
  std::vector<Batch> parts =
      in_task(task, "split_batch", [&] { return task.split_batch(batch, shards); });
  if (std::ssize(parts) != shards) return {};
  const std::int64_t rows = size_of(parts.front()).rows;
  const bool equal =
      std::ranges::all_of(parts, [&](const Batch& part) { return size_of(part).rows == rows; });
  return equal ? std::move(parts) : std::vector<Batch>();
}

}  // namespace

RunEval::RunEval(Task& task, ShardRange shards, ProcessGroup* processes, const Predictor* predictor)
    : task_(task),
      predictor_(predictor),
      processes_(processes),
      metrics_(task, Phase::evaluation, shards),
      sums_(static_cast<std::size_t>(shards.count)) {}

void RunEval::begin() {
  metrics_.reset();
  for (Sums& sums : sums_) sums = {};
  batches_ = 0;
}

void RunEval::add(const Batch& batch, const ProgramStep& step) {
  const ShardRange& shards = metrics_.shards();
  const std::int64_t number = batches_++;
  store_ = &step.store;
  if (!shards.several()) {
    add_part(0, batch, step);
    return;
  }
  const std::vector<Batch> parts = equal_parts(task_, batch, shards.total);
  if (parts.empty()) {
    const std::int64_t shard = number % shards.total;
    if (!shards.has(shard)) return compute_along(batch, step);
    return add_part_of_mesh(shard, batch, step, step.first_example);
  }
  for (std::int64_t i = 0; i < shards.count; ++i) {
    const std::int64_t shard = shards.first + i;
    const Batch& part = parts[static_cast<std::size_t>(shard)];
    const BatchSize size = size_of(part);
    if (size.examples > 0) {
      add_part_of_mesh(shard, part, step, step.first_example + shard * size.rows);
      continue;
    }
    // The first of those that other processes have now.
    for (std::int64_t other = i; other < shards.total; other += shards.count) {
      const Batch& theirs = parts[static_cast<std::size_t>(other)];
      if (size_of(theirs).examples == 0) continue;
      compute_along(theirs, step);
      break;
    }
  }
}

void RunEval::compute_along(const Batch& part, const ProgramStep& step) {
  if (!step.store.is_in_parts()) return;
  FpropContext own = step.context;
  own.summaries = {};
  StepState state{step.model, step.store, nullptr, metrics_.uncounted(), own};
  in_task(task_, "validation_step", [&] { return task_.validation_step(part, state); });
}

// With the random numbers of the shard. Summaries are those of the first shard.
void RunEval::add_part_of_mesh(std::int64_t shard, const Batch& part, const ProgramStep& step,
                               std::int64_t first_example) {
  FpropContext own = step.context;
  own.key = metrics_.shards().key_of(step.context.key, shard);
  if (shard != 0) own.summaries = {};
  add_part(shard, part, {step.model, step.store, own, first_example, step.take_output});
  if (shard == 0) step.context.summaries = std::move(own.summaries);
}

void RunEval::add_part(std::int64_t shard, const Batch& part, const ProgramStep& step) {
  Sums& sums = sums_[metrics_.shards().index_of(shard)];
  StepState state{step.model, step.store, nullptr, metrics_.of(shard), step.context};
  const StepOutput output =
      in_task(task_, "validation_step", [&] { return task_.validation_step(part, state); });
  if (output.loss.defined() && output.weight > 0) {
    sums.loss += output.weight * output.loss.item();
    sums.weight += output.weight;
  }
  if (metrics_.shards().several() && !std::exchange(aggregated_checked_, true)) {
    check_aggregated(output);
  }
  in_task(task_, "aggregate_logs",
          [&] { sums.aggregated = task_.aggregate_logs(std::move(sums.aggregated), output); });
  if (predictor_ == nullptr || !step.take_output) return;
  take_predictions(task_, *predictor_, output.batch, output.outputs, step);
}

// Merges logs of one part, to find with the first batch that a task's cannot be merged.
void RunEval::check_aggregated(const StepOutput& output) {
  in_task(task_, "aggregate_logs", [&] {
    const std::unique_ptr<AggregatedLogs> probe = task_.aggregate_logs(nullptr, output);
    if (!probe) return;
    try {
      probe->merge(probe->save_state());
    } catch (const Error& failure) {
      throw RunError(fmt::format("{}; the mesh makes {} shards, whose logs are merged",
                                 failure.message(), metrics_.shards().total),
                     {.path = "task",
                      .hint = "remove [mesh], or override save_state and merge of the task's "
                              "AggregatedLogs in its plugin"});
    }
  });
}

std::vector<Value> RunEval::states() const {
  std::vector<Value> states;
  const ShardRange& shards = metrics_.shards();
  for (std::int64_t shard = shards.first; shard < shards.end(); ++shard) {
    const Sums& sums = sums_[shards.index_of(shard)];
    states.push_back(Value::table(
        {{"loss", sums.loss},
         {"weight", sums.weight},
         {"metrics", metrics_.state_of(shard)},
         {"aggregated", sums.aggregated ? in_task(task_, "aggregate_logs",
                                                  [&] { return sums.aggregated->save_state(); })
                                        : Value()}}));
  }
  return states;
}

Logs RunEval::numbers(double loss, double weight, std::span<const Value> metrics) {
  Logs logs;
  if (weight > 0) logs.set("validation_loss", loss / weight);
  logs.merge(metrics_.merged(metrics));
  return logs;
}

void RunEval::reduce(AggregatedLogs& aggregated, std::int64_t global_step, Logs& logs) {
  in_task(task_, "reduce_aggregated_logs",
          [&] { logs.merge(task_.reduce_aggregated_logs(aggregated, global_step)); });
}

// The first state is this process's own object: only the task makes others, from a batch.
std::unique_ptr<AggregatedLogs> RunEval::merged_aggregated(std::span<const Value> of_all_shards) {
  std::unique_ptr<AggregatedLogs> merged;
  const ShardRange& shards = metrics_.shards();
  for (std::int64_t shard = 0; shard < shards.total; ++shard) {
    const Value& state = member(of_all_shards[static_cast<std::size_t>(shard)], "aggregated");
    if (state.is_null()) continue;
    if (!merged) {
      merged = std::move(sums_[shards.index_of(shard)].aggregated);
    } else {
      in_task(task_, "aggregate_logs", [&] { merged->merge(state); });
    }
  }
  return merged;
}

Logs RunEval::merged(std::span<const Value> of_all_shards, std::int64_t global_step) {
  double loss = 0, weight = 0;
  std::vector<Value> metrics;
  for (const Value& state : of_all_shards) {
    loss += member(state, "loss").as_float();
    weight += member(state, "weight").as_float();
    metrics.push_back(member(state, "metrics"));
  }
  Logs logs = numbers(loss, weight, metrics);
  const std::unique_ptr<AggregatedLogs> aggregated = merged_aggregated(of_all_shards);
  if (aggregated) reduce(*aggregated, global_step, logs);
  return logs;
}

// A task may use the model for what it reduces, such as texts that it generates.
std::unique_ptr<ParameterStore::Whole> RunEval::whole_if(bool reduces) const {
  return reduces && store_ != nullptr ? std::make_unique<ParameterStore::Whole>(*store_) : nullptr;
}

Logs RunEval::result(std::int64_t global_step) {
  if (metrics_.shards().several()) {
    const std::vector<Value> all = gather_states(processes_, states());
    // The first process alone makes the numbers.
    const auto whole = whole_if(std::ranges::any_of(
        all, [](const Value& state) { return !member(state, "aggregated").is_null(); }));
    if (processes_ != nullptr && processes_->rank() > 0) return {};
    return merged(all, global_step);
  }
  const Sums& sums = sums_.front();
  const auto whole = whole_if(sums.aggregated != nullptr);
  Logs logs = numbers(sums.loss, sums.weight, {});
  if (sums.aggregated) reduce(*sums.aggregated, global_step, logs);
  return logs;
}

}  // namespace trivet
