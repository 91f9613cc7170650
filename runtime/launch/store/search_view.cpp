// SPDX-License-Identifier: Apache-2.0
#include "launch/store/search_view.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include <fmt/core.h>

#include "base/file_stamp.h"
#include "base/terminal_text.h"
#include "trivet/config/enums.h"
#include "trivet/config/goal.h"
#include "trivet/config/json.h"
#include "trivet/error.h"
#include "trivet/search/importance.h"
#include "trivet/search/pareto.h"
#include "trivet/search/search_space.h"
#include "trivet/search/trial.h"
#include "trivet/text/strings.h"

namespace trivet {
namespace {

namespace fs = std::filesystem;
constexpr std::uint64_t kLargestJournal = std::uint64_t{1} << 30;
constexpr std::uint64_t kLargestGoal = 1 << 20;

void take(const Value& line, std::vector<TrialView>& trials) {
  const std::int64_t number = line.integer_or("trial", -1), known = std::ssize(trials);
  if (number < 0 || number > known) return;
  if (number == known) trials.emplace_back().number = number;
  TrialView& trial = trials[static_cast<std::size_t>(number)];
  trial.state = line.string_or("state");
  trial.wid = line.integer_or("wid", trial.wid);
  trial.detail = line.string_or("detail");
  const Value* point = line.find("point");
  if (point != nullptr && point->is_table()) trial.point = *point;
  const Value* value = line.find("value");
  const bool is_number = value != nullptr && (value->is_float() || value->is_integer());
  if (is_number) trial.value = value->as_float();
  const Value* values = line.find("values");
  if (values == nullptr || !values->is_array()) return;
  trial.values.clear();
  for (const Value& one : values->items()) {
    if (one.is_float() || one.is_integer()) trial.values.push_back(one.as_float());
  }
}

// Nothing if the text is not a table.
std::optional<Value> table_in(std::string_view text, const std::string& where) {
  try {
    Value value = value_from_json(text, where);
    if (value.is_table()) return value;
  } catch (const RunError&) {
  }
  return std::nullopt;
}

std::string point_text(const Value& point) {
  std::string text;
  for (const Value::Member& member : point.members()) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", member.key, to_json(member.value));
  }
  return printable(text);
}

Goal goal_of(const ObjectiveView& objective) {
  return enum_from_name<Goal>(objective.goal).value_or(Goal::min);
}

// Older versions wrote only the first.
std::vector<ObjectiveView> objectives_in(const Value& table) {
  const Value* several = table.find("objectives");
  if (several == nullptr || !several->is_array()) {
    return {{table.string_or("objective"), table.string_or("goal")}};
  }
  std::vector<ObjectiveView> objectives;
  for (const Value& each : several->items()) {
    if (each.is_table()) {
      objectives.push_back({each.string_or("objective"), each.string_or("goal")});
    }
  }
  return objectives;
}

std::optional<double> value_of(const TrialView& trial, std::size_t objective) {
  if (objective < trial.values.size()) return trial.values[objective];
  return objective == 0 ? trial.value : std::nullopt;
}

std::string values_text(const TrialView& trial) {
  std::string text;
  for (const double value : trial.values) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", value);
  }
  return text;
}

search::SearchPoint point_of(const TrialView& trial) {
  search::SearchPoint point;
  for (const Value::Member& member : trial.point.members()) {
    point.emplace_back(member.key, member.value);
  }
  return point;
}

std::map<std::string, std::int64_t> counts_of(const SearchView& search) {
  std::map<std::string, std::int64_t> counts;
  for (const TrialView& trial : search.trials) ++counts[trial.state];
  return counts;
}

}  // namespace

const TrialView* SearchView::of_unit(std::int64_t wid) const {
  const auto found = std::find_if(trials.rbegin(), trials.rend(),
                                  [&](const TrialView& trial) { return trial.wid == wid; });
  return found == trials.rend() ? nullptr : &*found;
}

const TrialView* SearchView::best() const {
  const TrialView* best = nullptr;
  if (objectives.size() != 1 || objectives[0].goal.empty()) return best;
  for (const TrialView& trial : trials) {
    if (!trial.value) continue;
    const Goal wanted = goal_of(objectives[0]);
    if (best == nullptr || is_better(*trial.value, *best->value, wanted)) best = &trial;
  }
  return best;
}

std::vector<const TrialView*> SearchView::front() const {
  std::vector<const TrialView*> trials_with_values;
  std::vector<std::vector<double>> losses;
  if (objectives.size() < 2) return {};
  for (const TrialView& trial : trials) {
    if (trial.state != "complete" || trial.values.size() != objectives.size()) continue;
    trials_with_values.push_back(&trial);
    std::vector<double>& row = losses.emplace_back();
    for (std::size_t i = 0; i < objectives.size(); ++i) {
      row.push_back(search::loss_of(trial.values[i], goal_of(objectives[i])));
    }
  }
  std::vector<const TrialView*> front;
  if (losses.empty()) return front;
  const auto fronts = search::pareto_fronts(losses, 1);
  for (const std::size_t row : fronts.front()) {
    front.push_back(trials_with_values[row]);
  }
  return front;
}

std::set<std::int64_t> SearchView::stopped_units() const {
  std::set<std::int64_t> wids;
  for (const TrialView& trial : trials) {
    if (trial.state == "stopped") wids.insert(trial.wid);
  }
  return wids;
}

std::optional<SearchView> read_search(const fs::path& experiment) {
  const fs::path journal = experiment / "search.jsonl", goal = experiment / "search.json";
  std::error_code ignored;
  if (!fs::exists(journal, ignored) && !fs::exists(goal, ignored)) return std::nullopt;
  SearchView search;
  if (fs::exists(goal, ignored)) {
    const std::string text = read_file_at_most(goal, kLargestGoal);
    if (const auto table = table_in(text, goal.string())) {
      search.objectives = objectives_in(*table);
      const Value* space = table->find("space");
      if (space != nullptr && space->is_table()) search.space = *space;
      search.failure = table->string_or("failure");
      search.asked = table->integer_or("trials", 0);
    }
  }
  if (!fs::exists(journal, ignored)) return search;
  const std::string text = read_file_at_most(journal, kLargestJournal);
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    if (const auto table = table_in(line, journal.string())) take(*table, search.trials);
    begin = end + 1;
  }
  return search;
}

std::string search_text(const SearchView& search) {
  std::string text = "  search";
  for (const ObjectiveView& each : search.objectives) {
    text += fmt::format("{} {} {}", &each == &search.objectives.front() ? " " : ",",
                        printable(each.goal), printable(each.name));
  }
  text += fmt::format(": {}", search.trials.size());
  if (search.asked > 0) text += fmt::format(" of {}", search.asked);
  text += " trials";
  for (const auto& [state, count] : counts_of(search)) {
    text += fmt::format(", {} {}", count, printable(state));
  }
  text += "\n";
  if (const TrialView* best = search.best()) {
    const std::string unit = best->wid > 0 ? fmt::format(", work unit {}", best->wid) : "";
    return text + fmt::format("  best    {} (trial {}{})  {}\n", *best->value, best->number, unit,
                              point_text(best->point));
  }
  const std::vector<const TrialView*> front = search.front();
  if (!front.empty()) {
    text += fmt::format("  front   {}, which no other one surpasses in all objectives\n",
                        count_of(std::ssize(front), "trial"));
  }
  for (const TrialView* trial : front) {
    text += fmt::format("          {} (trial {}, work unit {})  {}\n", values_text(*trial),
                        trial->number, trial->wid, point_text(trial->point));
  }
  if (!search.failure.empty()) text += "  " + printable(search.failure) + "\n";
  return text;
}

Value importances_of(const SearchView& search, std::size_t objective) {
  try {
    Map<search::DimensionConfig> config;
    for (const Value::Member& member : search.space.members()) {
      config[member.key] = decode<search::DimensionConfig>(member.value, member.key);
    }
    const search::SearchSpace space(config);
    std::vector<std::vector<double>> units;
    std::vector<double> values;
    for (const TrialView& trial : search.trials) {
      const std::optional<double> value = value_of(trial, objective);
      if (trial.state != "complete" || !value) continue;
      try {
        units.push_back(space.unit(point_of(trial)));
        values.push_back(*value);
      } catch (const Error&) {
        // Of an earlier space.
      }
    }
    const std::vector<double> shares = search::importances(space, units, values);
    if (shares.empty()) return {};
    Value table = Value::table();
    for (std::size_t d = 0; d < shares.size(); ++d) {
      // The elements of a list have shares of their own.
      const std::string& path = space.dimensions()[d].path();
      table.set(path, table.float_or(path, 0) + shares[d]);
    }
    return table;
  } catch (const Error&) {
    // A record of an older version, or of another program.
    return {};
  }
}

Value importances_value(const SearchView& search) {
  Value all = Value::table();
  for (std::size_t i = 0; i < search.objectives.size(); ++i) {
    all.set(search.objectives[i].name, importances_of(search, i));
  }
  return all;
}

std::string importances_text(const SearchView& search) {
  std::string text;
  for (std::size_t i = 0; i < search.objectives.size(); ++i) {
    text += "  importance for " + printable(search.objectives[i].name) + ":";
    const Value table = importances_of(search, i);
    if (table.is_null()) {
      text += fmt::format(" unknown, fewer than {} trials have completed, or all are equal\n",
                          search::kFewestForImportance);
      continue;
    }
    std::vector<std::pair<double, std::string>> order;
    for (const Value::Member& member : table.members()) {
      order.emplace_back(member.value.as_float(), member.key);
    }
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    for (const auto& [share, key] : order) {
      text += fmt::format("{} {} {:.2f}", key == order.front().second ? "" : ",", printable(key),
                          share);
    }
    text += "\n";
  }
  return text;
}

Value view_value(const SearchView& search) {
  Value trials = Value::array();
  for (const TrialView& trial : search.trials) {
    trials.push_back(Value::table({{"trial", trial.number},
                                   {"state", trial.state},
                                   {"wid", trial.wid},
                                   {"point", trial.point},
                                   {"value", trial.value ? Value(*trial.value) : Value()},
                                   {"values", Value::array_of(trial.values)},
                                   {"detail", trial.detail}}));
  }
  const TrialView* best = search.best();
  Value objectives = Value::array(), front = Value::array();
  for (const ObjectiveView& each : search.objectives) {
    objectives.push_back(Value::table({{"objective", each.name}, {"goal", each.goal}}));
  }
  for (const TrialView* trial : search.front()) front.push_back(trial->number);
  const ObjectiveView first = search.objectives.empty() ? ObjectiveView() : search.objectives[0];
  return Value::table({{"objective", first.name},
                       {"goal", first.goal},
                       {"objectives", objectives},
                       {"asked", search.asked},
                       {"failure", search.failure.empty() ? Value() : Value(search.failure)},
                       {"best", best != nullptr ? Value(best->number) : Value()},
                       {"front", front},
                       {"trials", trials}});
}

}  // namespace trivet
