// SPDX-License-Identifier: Apache-2.0
#include "step/shard_metrics.h"

#include <utility>

#include <fmt/core.h>

#include "step/step_parts.h"
#include "trivet/error.h"

namespace trivet {
namespace {

void merge_metrics(const Value& states, const Metrics& into) {
  std::size_t next = 0;
  for (const auto& metric : into) {
    in_plugin(item_of(*metric), "merge", "task", [&] { metric->merge(states.items().at(next++)); });
  }
}

void restore_merged_states(std::span<const Value> states, Metrics& into) {
  reset(into);
  if (states.empty()) return;
  restore_metrics(states.front(), into);
  for (const Value& more : states.subspan(1)) merge_metrics(more, into);
}

// The config of each metric of all_metrics; null for those that the task itself builds.
std::vector<const ConfigOf<Metric>*> configs_of(const Task& task, const Metrics& metrics,
                                                Phase phase) {
  std::vector<const ConfigOf<Metric>*> configured;
  for (const ConfigOf<Metric>& config : task.config().metrics) {
    const Value* in_training = config.fields().find("in_training");
    const bool reports =
        phase == Phase::evaluation || (in_training != nullptr && in_training->as_boolean());
    if (reports) configured.push_back(&config);
  }
  std::vector<const ConfigOf<Metric>*> all(metrics.size() - configured.size(), nullptr);
  all.insert(all.end(), configured.begin(), configured.end());
  return all;
}

// Merges the state of no batch into each metric: one that cannot would end the run at its first
// line of metrics.
void check_merge(const Task& task, const Metrics& metrics, Phase phase, std::int64_t shards) {
  const auto configs = configs_of(task, metrics, phase);
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    Metric& metric = *metrics[i];
    try {
      in_plugin(item_of(metric), "merge", "task", [&] { metric.merge(metric.save_state()); });
    } catch (const Error& failure) {
      throw ConfigError(Diagnostic{
          .path = configs[i] != nullptr ? configs[i]->path() : "task",
          .what = fmt::format("{}; the mesh makes {} shards, whose metrics are merged",
                              failure.message(), shards),
          .hint = configs[i] != nullptr
                      ? "remove this metric or [mesh], or override Metric::merge in its plugin"
                      : "remove [mesh], or override Metric::merge in the plugin"});
    }
  }
}

}  // namespace

std::size_t ShardRange::index_of(std::int64_t shard) const {
  if (!has(shard)) {
    throw Error(fmt::format("this process has the shards from {} to {}, and not {}", first,
                            end() - 1, shard));
  }
  return static_cast<std::size_t>(shard - first);
}

RngKey ShardRange::key_of(RngKey step, std::int64_t shard) const {
  return several() ? step.fold("shard").fold(static_cast<std::uint64_t>(shard)) : step;
}

ShardMetrics::ShardMetrics(Task& task, Phase phase, ShardRange shards) : shards_(shards) {
  for (std::int64_t i = 0; i < shards.count; ++i) metrics_.push_back(all_metrics(task, phase));
  names_ = metric_names(metrics_.front());
  if (!shards.several()) return;
  sums_ = all_metrics(task, phase);
  check_merge(task, sums_, phase, shards.total);
  trivet::reset(sums_);
}

void ShardMetrics::reset() {
  for (Metrics& metrics : metrics_) trivet::reset(metrics);
}

Value ShardMetrics::state_of(std::int64_t shard) const {
  return save_metrics(metrics_[shards_.index_of(shard)]);
}

void ShardMetrics::restore(std::int64_t shard, const Value& states) {
  restore_metrics(states, of(shard));
}

void ShardMetrics::restore_merged(std::int64_t shard, std::span<const Value> states) {
  restore_merged_states(states, of(shard));
}

Logs ShardMetrics::merged(std::span<const Value> of_all_shards) {
  if (!shards_.several()) return results(metrics_.front());
  if (std::ssize(of_all_shards) != shards_.total) {
    throw Error(fmt::format("the states of {} shards are to be merged, and the mesh has {}",
                            of_all_shards.size(), shards_.total));
  }
  restore_merged_states(of_all_shards, sums_);
  return results(sums_);
}

}  // namespace trivet
