// SPDX-License-Identifier: Apache-2.0
#include "trivet/action.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <nlohmann/json.hpp>

#include "trivet/config/schema.h"
#include "trivet/error.h"
#include "trivet/os/file.h"
#include "trivet/text/strings.h"

namespace trivet {

Action::~Action() = default;

bool ActionEvent::is_skipped(std::string_view metric) const {
  return std::any_of(skipped_sets.begin(), skipped_sets.end(), [&](const std::string& set) {
    return set.empty() ? logs.find(metric) == nullptr : metric.starts_with(set + "/");
  });
}

Value states_of(const Actions& actions) {
  Value states = Value::array();
  bool any = false;
  for (const auto& action : actions) {
    states.push_back(action->save_state());
    any = any || !states.items().back().is_null();
  }
  return any ? states : Value();
}

void restore_states(const Actions& actions, const Value& states) {
  if (states.is_null()) return;
  if (!states.is_array() || states.items().size() != actions.size()) {
    throw Error("the saved state is not that of " + count_of(actions.size(), "action"));
  }
  for (std::size_t i = 0; i < actions.size(); ++i) {
    if (!states.items()[i].is_null()) actions[i]->restore_state(states.items()[i]);
  }
}

ConditionalAction::ConditionalAction(Condition condition, Actions actions)
    : condition_(std::move(condition)), actions_(std::move(actions)) {}

ConditionalAction::~ConditionalAction() = default;

void ConditionalAction::run(const ActionEvent& event) {
  if (!condition_(event)) return;
  for (const auto& action : actions_) action->run(event);
}

Value ConditionalAction::save_state() const {
  return states_of(actions_);
}

void ConditionalAction::restore_state(const Value& state) {
  restore_states(actions_, state);
}

PeriodicAction::PeriodicAction(std::int64_t interval, Actions actions)
    : interval_(interval), actions_(std::move(actions)) {
  if (interval < 1) throw Error("the interval of a periodic action must be at least 1");
}

PeriodicAction::~PeriodicAction() = default;

void PeriodicAction::run(const ActionEvent& event) {
  if (!event.crossed(interval_)) return;
  for (const auto& action : actions_) action->run(event);
}

Value PeriodicAction::save_state() const {
  return states_of(actions_);
}

void PeriodicAction::restore_state(const Value& state) {
  restore_states(actions_, state);
}

namespace {

using Json = nlohmann::json;

std::string text_of(const std::filesystem::path& file) {
  std::error_code ignored;
  return std::filesystem::exists(file, ignored) ? read_text_file(file) : std::string();
}

}  // namespace

NewBestMetric::NewBestMetric(std::string metric, Goal goal, std::filesystem::path file)
    : metric_(std::move(metric)), goal_(goal), file_(std::move(file)) {
  if (file_.empty()) return;
  const std::string text = text_of(file_);
  if (text.empty()) return;
  std::string of;
  try {
    const Json record = Json::parse(text);
    of = record.at("metric").get<std::string>();
    value_ = record.at("value").get<double>();
  } catch (const Json::exception& failure) {
    throw RunError(file_.string() + " is not the record of a best metric: " + failure.what());
  }
  if (of != metric_) {
    throw RunError(file_.string() + " holds the best '" + of + "', not '" + metric_ + "'",
                   {.hint = "move it away, or use another file"});
  }
  has_value_ = true;
}

double NewBestMetric::number(const Logs& logs) const {
  if (const double* value = logs.find(metric_)) return *value;
  std::vector<std::string> names;
  for (const Logs::Entry& entry : logs) names.push_back(entry.first);
  throw RunError("there is no number '" + metric_ + "' to compare",
                 {.hint = suggestion(metric_, names)});
}

bool NewBestMetric::test(const Logs& logs) const {
  const double value = number(logs);
  if (std::isnan(value)) return false;
  if (!has_value_) return true;
  return is_better(value, value_, goal_);
}

void NewBestMetric::commit(const Logs& logs) {
  const double value = number(logs);
  if (!file_.empty()) {
    replace_file(file_, Json({{"metric", metric_}, {"value", value}}).dump(2) + "\n");
  }
  value_ = value;
  has_value_ = true;
}

bool NewBestMetric::operator()(const ActionEvent& event) {
  if (event.is_skipped(metric_) || !test(event.logs)) return false;
  commit(event.logs);
  return true;
}

ExportDirectories::ExportDirectories(std::filesystem::path parent, std::string base_name,
                                     std::int64_t max_to_keep,
                                     std::function<std::int64_t()> next_id)
    : parent_(std::move(parent)),
      base_name_(std::move(base_name)),
      max_to_keep_(max_to_keep),
      next_id_(std::move(next_id)) {
  const bool plain = !base_name_.empty() && base_name_.front() != '.' &&
                     base_name_.find('/') == std::string::npos &&
                     base_name_.find('\0') == std::string::npos;
  if (!plain) throw Error("'" + base_name_ + "' cannot be the name of exported directories");
}

std::vector<std::int64_t> ExportDirectories::ids() const {
  std::vector<std::int64_t> found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(parent_, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(base_name_ + "-") || !entry.is_directory(ignored)) continue;
    const std::string digits = name.substr(base_name_.size() + 1);
    const bool number = !digits.empty() && digits.size() <= 18 &&
                        digits.find_first_not_of("0123456789") == std::string::npos;
    // Only the one spelling that add() uses.
    if (number && std::to_string(std::stoll(digits)) == digits) found.push_back(std::stoll(digits));
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::filesystem::path ExportDirectories::path_of(std::int64_t id) const {
  return parent_ / (base_name_ + "-" + std::to_string(id));
}

std::vector<std::filesystem::path> ExportDirectories::managed() const {
  std::vector<std::filesystem::path> paths;
  for (const std::int64_t id : ids()) paths.push_back(path_of(id));
  return paths;
}

std::filesystem::path ExportDirectories::add(
    const std::function<void(const std::filesystem::path&)>& fill) {
  namespace fs = std::filesystem;
  const std::vector<std::int64_t> there = ids();
  const std::int64_t id = next_id_ ? next_id_() : (there.empty() ? 1 : there.back() + 1);
  const fs::path temporary = parent_ / ("." + base_name_ + ".tmp"), path = path_of(id);
  try {
    fs::create_directories(parent_);
    fs::remove_all(temporary);
    fs::create_directory(temporary);
    fill(temporary);
    fs::remove_all(path);  // a number that was given before: the same content again
    fs::rename(temporary, path);
    if (max_to_keep_ > 0) {
      std::vector<std::int64_t> all = ids();
      std::erase(all, id);
      const auto keep = static_cast<std::size_t>(max_to_keep_ - 1);
      for (std::size_t i = 0; i + keep < all.size(); ++i) fs::remove_all(path_of(all[i]));
    }
  } catch (const fs::filesystem_error& failure) {
    std::error_code ignored;
    fs::remove_all(temporary, ignored);
    throw RunError(std::string("cannot export: ") + failure.what());
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(temporary, ignored);
    throw;
  }
  return path;
}

}  // namespace trivet
