// SPDX-License-Identifier: Apache-2.0
#include "train/best_checkpoints.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/core.h>

#include "train/file_io.h"
#include "trivet/error.h"
#include "trivet/json.h"
#include "trivet/schema.h"

namespace trivet {
namespace {

std::string_view name_of(Better better) {
  return better == Better::higher ? "higher" : "lower";
}

const Value& record_member(const Value& table, std::string_view key) {
  const Value* found = table.find(key);
  if (found == nullptr) throw ConfigError(Problem{.what = fmt::format("there is no \"{}\"", key)});
  return *found;
}

}  // namespace

BestCheckpoints::BestCheckpoints(std::filesystem::path directory, BestCheckpointConfig config,
                                 CheckpointManager::Warn warn)
    : record_(directory / "best.json"),
      config_(std::move(config)),
      warn_(warn),
      checkpoints_(directory, {.max_to_keep = 0}, std::move(warn)) {
  if (enabled()) read_record();
}

void BestCheckpoints::read_record() {
  std::error_code ignored;
  if (!std::filesystem::exists(record_, ignored)) return;
  const Value record = value_from_json(read_text(record_), record_.string());
  try {
    const std::string& metric = record_member(record, "metric").as_text();
    const std::string& better = record_member(record, "better").as_text();
    if (metric != config_.metric || better != name_of(config_.better)) {
      throw RunError(
          fmt::format("{} holds the best by {} ({} is better), trainer.best_checkpoint wants {} "
                      "({} is better)",
                      record_.parent_path().string(), metric, better, config_.metric,
                      name_of(config_.better)),
          {.path = "trainer.best_checkpoint", .hint = "move that directory away, or change back"});
    }
    for (const Value& item : record_member(record, "checkpoints").items()) {
      entries_.push_back(
          {record_member(item, "step").as_integer(), record_member(item, "value").as_number()});
    }
  } catch (const ConfigError& wrong) {
    throw RunError(fmt::format("{} is damaged: {}", record_.string(), wrong.message()),
                   {.hint = "move it away to start a new record"});
  }
  const std::vector<std::int64_t> there = checkpoints_.steps();
  std::erase_if(entries_, [&](const Entry& entry) {
    const bool gone = std::find(there.begin(), there.end(), entry.step) == there.end();
    if (gone) warn_(fmt::format("the best checkpoint of step {} is gone", entry.step));
    return gone;
  });
}

bool BestCheckpoints::is_better(double a, double b) const {
  return config_.better == Better::higher ? a > b : a < b;
}

std::optional<double> BestCheckpoints::wanted(std::int64_t step, const Logs& logs) const {
  if (!enabled()) return std::nullopt;
  const double* value = logs.find(config_.metric);
  if (value == nullptr) {
    std::vector<std::string> names;
    for (const Logs::Entry& entry : logs) names.push_back(entry.first);
    throw RunError(
        fmt::format("the evaluation has no number '{}'", config_.metric),
        {.path = "trainer.best_checkpoint.metric", .hint = suggestion(config_.metric, names)});
  }
  if (std::isnan(*value)) return std::nullopt;
  for (const Entry& entry : entries_) {
    if (entry.step == step) return std::nullopt;
  }
  const bool has_room = std::cmp_less(entries_.size(), config_.keep);
  if (!has_room && !is_better(*value, entries_.back().value)) return std::nullopt;
  return *value;
}

std::filesystem::path BestCheckpoints::keep(Entry entry, const std::filesystem::path& source,
                                            const CheckpointManager::Fill& fill) {
  if (source.empty()) {
    checkpoints_.save(entry.step, fill);
  } else {
    checkpoints_.adopt(entry.step, source);
  }
  // Behind those that are as good: the first stays the best.
  const auto place = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& other) {
    return is_better(entry.value, other.value);
  });
  entries_.insert(place, entry);
  while (std::cmp_greater(entries_.size(), config_.keep)) entries_.pop_back();

  Value checkpoints = Value::array();
  for (const Entry& kept : entries_) {
    checkpoints.push_back(Value::table({{"step", kept.step}, {"value", kept.value}}));
  }
  const Value record = Value::table({{"metric", config_.metric},
                                     {"better", name_of(config_.better)},
                                     {"checkpoints", std::move(checkpoints)}});
  // The checkpoint first, then the record, then the removal: a kill between leaves one too many.
  replace_file(record_, to_json(record, JsonStyle::indented), Durability::synced);
  remove_others();
  return checkpoints_.path_of(entry.step);
}

void BestCheckpoints::remove_others() {
  for (const std::int64_t step : checkpoints_.steps()) {
    const bool kept = std::any_of(entries_.begin(), entries_.end(),
                                  [&](const Entry& entry) { return entry.step == step; });
    if (!kept) checkpoints_.remove(step);
  }
}

}  // namespace trivet
