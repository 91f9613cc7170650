// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/best_checkpoints.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/core.h>

#include "trivet/config/enums.h"
#include "trivet/config/json.h"
#include "trivet/config/schema.h"
#include "trivet/error.h"
#include "trivet/os/file.h"
#include "trivet/text/strings.h"

namespace trivet {
namespace {

// The entry in a best checkpoint's manifest: {"metric", "goal", "value"}.
constexpr std::string_view kBest = "best";

const Value& record_member(const Value& table, std::string_view key) {
  const Value* found = table.find(key);
  if (found == nullptr) {
    throw ConfigError(Diagnostic{.what = fmt::format("\"{}\" is missing", key)});
  }
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

// Throws RunError if it was kept by another rule.
void BestCheckpoints::check_rule(const Value& kept, const std::filesystem::path& source) const {
  const std::string& metric = record_member(kept, "metric").as_string();
  const std::string& goal = record_member(kept, "goal").as_string();
  if (metric == config_.metric && goal == enum_name(config_.goal)) return;
  throw RunError(
      fmt::format("{} holds the best checkpoints by {} (goal {}), but trainer.best_checkpoint sets "
                  "{} (goal {})",
                  source.string(), metric, goal, config_.metric, enum_name(config_.goal)),
      {.path = "trainer.best_checkpoint", .hint = "move that directory away, or undo the change"});
}

void BestCheckpoints::read_record() {
  std::string damage;
  try {
    if (!is_there(record_)) {
      if (checkpoints_.steps().empty()) return;
      damage = "is missing";
    }
  } catch (const FileError& failure) {
    if (failure.may_pass()) throw;
    damage = "is not a file";
  }
  if (damage.empty()) damage = take_record(read_text_file(record_));
  if (!damage.empty()) rebuild(damage);
  const std::vector<std::int64_t> there = checkpoints_.steps();
  std::erase_if(entries_, [&](const Entry& entry) {
    const bool gone = std::find(there.begin(), there.end(), entry.step) == there.end();
    if (gone) warn_(fmt::format("the best checkpoint of step {} is gone", entry.step));
    return gone;
  });
}

// Returns the error in the text. Empty if it was accepted.
std::string BestCheckpoints::take_record(const std::string& text) {
  Value record;
  try {
    record = value_from_json(text, record_.string());
  } catch (const RunError& damaged) {
    return "is damaged: " + damaged.message();
  }
  try {
    check_rule(record, record_.parent_path());
    for (const Value& item : record_member(record, "checkpoints").items()) {
      entries_.push_back(
          {record_member(item, "step").as_integer(), record_member(item, "value").as_float()});
    }
  } catch (const ConfigError& wrong) {
    entries_.clear();
    return "is damaged: " + wrong.message();
  }
  return {};
}

// The value in a checkpoint's manifest. Nothing if the checkpoint is incomplete, damaged or of an
// earlier version.
std::optional<Value> BestCheckpoints::said_by(std::int64_t step) const {
  try {
    std::optional<Value> said = in_manifest(checkpoints_.path_of(step), kBest);
    if (said) record_member(*said, "value").as_float();
    return said;
  } catch (const FileError& failure) {
    if (failure.may_pass()) throw;
  } catch (const Error&) {
  }
  return std::nullopt;
}

void BestCheckpoints::rebuild(const std::string& damage) {
  std::string unknown;
  for (const std::int64_t step : checkpoints_.steps()) {
    const std::optional<Value> said = said_by(step);
    if (said) {
      check_rule(*said, record_.parent_path());
      insert({step, said->find("value")->as_float()});
    } else {
      unknown += fmt::format("{}{}", unknown.empty() ? "" : ", ", step);
    }
  }
  std::string text =
      fmt::format("{} {}; {} found by their manifests", record_.string(), damage,
                  count_of(static_cast<std::int64_t>(entries_.size()), "best checkpoint"));
  rebuilt_ = true;
  if (!unknown.empty()) text += "; those of step " + unknown + " lack their value";
  warn_(text);
}

std::optional<double> BestCheckpoints::wanted(std::int64_t step, const Logs& logs) const {
  if (!enabled()) return std::nullopt;
  const double* value = logs.find(config_.metric);
  if (value == nullptr) {
    std::vector<std::string> names;
    for (const Logs::Entry& entry : logs) names.push_back(entry.first);
    throw RunError(
        fmt::format("the evaluation has no metric '{}'", config_.metric),
        {.path = "trainer.best_checkpoint.metric", .hint = suggestion(config_.metric, names)});
  }
  if (std::isnan(*value)) return std::nullopt;
  for (const Entry& entry : entries_) {
    if (entry.step != step) continue;
    // The step may exist already: an earlier process was killed after this point, or the run went
    // back and trained to this step again. The new weights replace the old ones.
    return entry.value == *value ? std::nullopt : std::optional(*value);
  }
  const bool has_room = std::cmp_less(entries_.size(), config_.keep);
  if (!has_room && !is_better(*value, entries_.back().value, config_.goal)) return std::nullopt;
  return *value;
}

std::filesystem::path BestCheckpoints::keep(Entry entry, const std::filesystem::path& source,
                                            const CheckpointManager::Fill& fill) {
  if (source.empty()) {
    checkpoints_.outdate(entry.step);
    checkpoints_.save(entry.step, fill);
  } else {
    checkpoints_.adopt(entry.step, source);
  }
  add_to_manifest(
      checkpoints_.path_of(entry.step), kBest,
      Value::table(
          {{"metric", config_.metric}, {"goal", enum_name(config_.goal)}, {"value", entry.value}}));
  std::erase_if(entries_, [&](const Entry& old) { return old.step == entry.step; });
  insert(entry);
  while (std::cmp_greater(entries_.size(), config_.keep)) entries_.pop_back();

  // Saves the checkpoint, then the record, then removes: a kill in between leaves one checkpoint
  // too many.
  write_record();
  remove_others();
  return checkpoints_.path_of(entry.step);
}

void BestCheckpoints::repair() {
  if (rebuilt_) write_record();
}

void BestCheckpoints::write_record() {
  Value checkpoints = Value::array();
  for (const Entry& kept : entries_) {
    checkpoints.push_back(Value::table({{"step", kept.step}, {"value", kept.value}}));
  }
  const Value record = Value::table({{"metric", config_.metric},
                                     {"goal", enum_name(config_.goal)},
                                     {"checkpoints", std::move(checkpoints)}});
  replace_file(record_, to_json(record, JsonStyle::indented), Durability::synced);
  rebuilt_ = false;
}

// After equally good checkpoints: the first stays the best.
void BestCheckpoints::insert(Entry entry) {
  const auto location = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& other) {
    return is_better(entry.value, other.value, config_.goal);
  });
  entries_.insert(location, entry);
}

void BestCheckpoints::remove_others() {
  for (const std::int64_t step : checkpoints_.steps()) {
    const bool kept = std::any_of(entries_.begin(), entries_.end(),
                                  [&](const Entry& entry) { return entry.step == step; });
    if (!kept) checkpoints_.remove(step);
  }
}

}  // namespace trivet
