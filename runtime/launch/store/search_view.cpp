// SPDX-License-Identifier: Apache-2.0
#include "launch/store/search_view.h"

#include <algorithm>
#include <system_error>

#include <fmt/core.h>

#include "base/file_stamp.h"
#include "base/terminal_text.h"
#include "trivet/config/enums.h"
#include "trivet/config/goal.h"
#include "trivet/config/json.h"
#include "trivet/error.h"

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
  if (goal.empty()) return best;
  for (const TrialView& trial : trials) {
    if (!trial.value) continue;
    const Goal wanted = enum_from_name<Goal>(goal).value_or(Goal::min);
    if (best == nullptr || is_better(*trial.value, *best->value, wanted)) best = &trial;
  }
  return best;
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
      search.objective = table->string_or("objective");
      search.goal = table->string_or("goal");
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
  std::string text = fmt::format("  search  {} {}: {}", search.goal, printable(search.objective),
                                 search.trials.size());
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
  if (!search.failure.empty()) text += "  " + printable(search.failure) + "\n";
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
                                   {"detail", trial.detail}}));
  }
  const TrialView* best = search.best();
  return Value::table({{"objective", search.objective},
                       {"goal", search.goal},
                       {"asked", search.asked},
                       {"failure", search.failure.empty() ? Value() : Value(search.failure)},
                       {"best", best != nullptr ? Value(best->number) : Value()},
                       {"trials", trials}});
}

}  // namespace trivet
