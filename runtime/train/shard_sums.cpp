// SPDX-License-Identifier: Apache-2.0
#include "train/shard_sums.h"

#include <utility>

#include "checkpoint/state_value.h"
#include "step/step_parts.h"

namespace trivet {

ShardSums::ShardSums(Task& task, ShardRange shards)
    : shards_(shards),
      metrics_(task, Phase::training, shards),
      logs_(static_cast<std::size_t>(shards.count)) {}

void ShardSums::add(std::int64_t shard, const Logs& logs, const Learner::Update& update) {
  LogMeans& means = logs_[shards_.index_of(shard)];
  if (!shards_.several() || update.gradient_norm < 0) {
    means.add(logs);
    return;
  }
  // It comes with the last shard of each process: their sum would depend on their number.
  Logs own;
  for (const auto& [name, value] : logs) {
    if (name != "gradient_norm") own.set(name, value);
  }
  means.add(own);
}

void ShardSums::add_update(const Logs& logs) {
  (shards_.several() ? update_logs_ : logs_.front()).add(logs);
}

void ShardSums::reset() {
  metrics_.reset();
  for (LogMeans& logs : logs_) logs.reset();
  update_logs_.reset();
}

std::vector<Value> ShardSums::states() const {
  std::vector<Value> states;
  for (std::int64_t shard = shards_.first; shard < shards_.end(); ++shard) {
    states.push_back(Value::table({{"metrics", metrics_.state_of(shard)},
                                   {"logs", logs_[shards_.index_of(shard)].save_state()}}));
  }
  return states;
}

Logs ShardSums::merged(std::span<const Value> of_all_shards) {
  std::vector<Value> metrics;
  LogMeans means;
  for (const Value& state : of_all_shards) {
    metrics.push_back(member(state, "metrics"));
    means.merge(member(state, "logs"));
  }
  means.merge(update_logs_.save_state());
  Logs logs = metrics_.merged(metrics);
  logs.merge(means.means());
  return logs;
}

Logs ShardSums::results() {
  if (shards_.several()) return merged(states());
  Logs logs = metrics_.merged({});
  logs.merge(logs_.front().means());
  return logs;
}

void ShardSums::save(Value& trainer_state, std::span<const Value> of_all_shards) const {
  if (shards_.several()) {
    Value shards = Value::array();
    for (const Value& state : of_all_shards) shards.push_back(state);
    trainer_state.set("logs", update_logs_.save_state());
    trainer_state.set("shards", std::move(shards));
  } else {
    trainer_state.set("logs", member(of_all_shards.front(), "logs"));
    trainer_state.set("metrics", member(of_all_shards.front(), "metrics"));
  }
  trainer_state.set("metric_names", metrics_.names());
}

bool ShardSums::restore(const Value& trainer_state) {
  const Value* names = trainer_state.find("metric_names");  // older checkpoints have none
  const bool same_metrics = names == nullptr || *names == metrics_.names();
  reset();
  const Value& logs = member(trainer_state, "logs");
  const Value* shards = trainer_state.find("shards");
  std::vector<Value> saved;
  if (shards != nullptr) {
    saved = shards->items();
    if (shards_.several()) update_logs_.restore_state(logs);
  } else {
    saved.push_back(Value::table({{"metrics", member(trainer_state, "metrics")}, {"logs", logs}}));
  }
  if (std::ssize(saved) == shards_.total) {
    for (std::int64_t shard = shards_.first; shard < shards_.end(); ++shard) {
      const Value& state = saved[static_cast<std::size_t>(shard)];
      logs_[shards_.index_of(shard)].restore_state(member(state, "logs"));
      if (same_metrics) metrics_.restore(shard, member(state, "metrics"));
    }
  } else if (shards_.has(0)) {
    std::vector<Value> metrics;
    for (const Value& state : saved) {
      logs_.front().merge(member(state, "logs"));
      metrics.push_back(member(state, "metrics"));
    }
    if (!shards_.several()) logs_.front().merge(logs);
    if (same_metrics) metrics_.restore_merged(0, metrics);
  }
  return same_metrics;
}

Value ShardSums::snapshot() const {
  Value shards = Value::array();
  for (Value& state : states()) shards.push_back(std::move(state));
  return Value::table({{"shards", std::move(shards)}, {"updates", update_logs_.save_state()}});
}

void ShardSums::put_back(const Value& snapshot) {
  const Value::Array& states = member(snapshot, "shards").items();
  for (std::size_t i = 0; i < states.size(); ++i) {
    metrics_.restore(shards_.first + static_cast<std::int64_t>(i), member(states[i], "metrics"));
    logs_[i].restore_state(member(states[i], "logs"));
  }
  update_logs_.restore_state(member(snapshot, "updates"));
}

}  // namespace trivet
