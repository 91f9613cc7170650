// SPDX-License-Identifier: Apache-2.0
#include "cli/view/run_table.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <system_error>

#include <fmt/core.h>

#include "base/format.h"
#include "base/process_info.h"
#include "cli/view/run_numbers.h"
#include "cli/view/text_table.h"
#include "trivet/config/json.h"
#include "trivet/config/schema.h"
#include "trivet/error.h"

namespace trivet {
namespace {

bool is_better_low(const std::string& name) {
  std::string lower = name;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  constexpr std::array kWords = {"loss", "error", "perplexity", "mse", "mae", "_nll"};
  return std::any_of(kWords.begin(), kWords.end(),
                     [&](const char* word) { return lower.find(word) != std::string::npos; });
}

std::vector<std::string> sweep_names(const std::vector<ListedRun>& runs) {
  std::vector<std::string> names;
  for (const ListedRun& run : runs) add_sweep_names(run.cells, names);
  return names;
}

// The sort key of a row: a number or a string.
struct SortKey {
  bool is_there = true;
  std::optional<double> number{};
  std::string text{};
};

SortKey number_key(std::optional<double> number) {
  return {number.has_value(), number, {}};
}

SortKey sweep_key(const ListedRun& run, const std::string& name) {
  const std::string text = sweep_cell(run.cells, name);
  double number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && stop == text.data() + text.size()) return number_key(number);
  return {.is_there = text != "-", .text = text};
}

bool is_row_before(const SortKey& a, const SortKey& b, bool reverse) {
  if (a.is_there != b.is_there) return a.is_there;
  if (!a.is_there) return false;
  // Numbers come before strings.
  if (a.number.has_value() != b.number.has_value()) return a.number.has_value();
  const SortKey &first = reverse ? b : a, &second = reverse ? a : b;
  return a.number ? *first.number < *second.number : natural_less(first.text, second.text);
}

SortKey key_of(const ListedRun& run, const std::string& by,
               const std::vector<NumberColumn>& columns) {
  if (by == "run") return {.text = run.name};
  if (by == "state") return {.text = run.state};
  if (by == "step") return {run.run.step >= 0, static_cast<double>(run.run.step), {}};
  if (by == "age") return {run.time >= 0, -run.time, {}};
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].head == by || columns[i].name == by) return number_key(run.shown[i]);
  }
  return sweep_key(run, by);
}

Value record_value(const std::optional<MetricsRecord>& record) {
  if (!record) return {};
  return Value::table({{"step", record->step},
                       {"values", json_numbers(record->values)},
                       {"rates", json_numbers(record->rates)}});
}

Value ranges_value(const std::vector<NumberRange>& ranges) {
  Value table = Value::table();
  for (const NumberRange& range : ranges) {
    table.set(range.name, Value::table({{"low", range.low},
                                        {"low_step", range.low_step},
                                        {"high", range.high},
                                        {"high_step", range.high_step}}));
  }
  return table;
}

Value known_or_null(std::int64_t number) {
  return number < 0 ? Value() : Value(number);
}

Value known_or_null(double number) {
  return number < 0 ? Value() : Value(number);
}

}  // namespace

NumberColumn best_column(const std::string& text) {
  for (const auto& [ending, which] :
       {std::pair{":min", WhichNumber::low}, std::pair{":max", WhichNumber::high}}) {
    if (!text.ends_with(ending)) continue;
    const std::string name = text.substr(0, text.size() - 4);
    return {"best " + name, name, which};
  }
  return {"best " + text, text, is_better_low(text) ? WhichNumber::low : WhichNumber::high};
}

NumberColumn last_column(const std::string& name) {
  return {name, name, WhichNumber::last};
}

std::optional<double> number_in(const ListedRun& run, const NumberColumn& column) {
  if (column.which == WhichNumber::last) {
    const double* number = find_number(run.run.last, column.name);
    return number != nullptr ? std::optional(*number) : std::nullopt;
  }
  const NumberName wanted = parse_number_name(column.name);
  for (const NumberRange& range : run.ranges) {
    if (wanted.fits(RecordKind::eval, range.name)) {
      return column.which == WhichNumber::low ? range.low : range.high;
    }
  }
  return std::nullopt;
}

void sort_runs(std::vector<ListedRun>& runs, const std::string& by, bool reverse,
               const std::vector<NumberColumn>& columns) {
  std::vector<std::string> names = {"run", "state", "step", "age"};
  for (const NumberColumn& column : columns) names.insert(names.end(), {column.head, column.name});
  for (const ListedRun& run : runs) add_sweep_names(run.cells, names);
  if (std::find(names.begin(), names.end(), by) == names.end()) {
    throw UsageError("unknown column '" + by + "'", {.hint = suggestion(by, names)});
  }
  std::vector<std::pair<SortKey, std::size_t>> keys;
  for (std::size_t i = 0; i < runs.size(); ++i) keys.emplace_back(key_of(runs[i], by, columns), i);
  std::stable_sort(keys.begin(), keys.end(), [&](const auto& a, const auto& b) {
    return is_row_before(a.first, b.first, reverse);
  });
  std::vector<ListedRun> sorted;
  for (const auto& [key, location] : keys) sorted.push_back(std::move(runs[location]));
  runs = std::move(sorted);
}

std::string step_text(const RunStatus& run) {
  if (run.step < 0) return "-";
  return run.target > 0 ? fmt::format("{}/{}", run.step, run.target) : std::to_string(run.step);
}

std::string run_table(const std::vector<ListedRun>& runs, const std::vector<NumberColumn>& columns,
                      int width) {
  using Align = TextTable::Align;
  TextTable table;
  table.column("RUN");
  table.column("STATE");
  table.column("STEP", Align::right);
  table.column("AGE", Align::right);
  const std::vector<std::string> arguments = sweep_names(runs);
  for (const std::string& name : arguments) table.column(name, Align::right);
  for (const NumberColumn& column : columns) table.column(column.head, Align::right);
  const double now = unix_time();
  for (const ListedRun& run : runs) {
    std::vector<std::string> cells = {
        run.name, run.state, step_text(run.run),
        run.time < 0 ? "-" : format_duration(std::max(0.0, now - run.time))};
    for (const std::string& name : arguments) cells.push_back(sweep_cell(run.cells, name));
    for (const std::optional<double>& number : run.shown) {
      cells.push_back(number ? format_number(*number) : "-");
    }
    table.row(std::move(cells));
  }
  return table.text(width);
}

Value json_of_runs(const std::vector<ListedRun>& runs) {
  const double now = unix_time();
  Value rows = Value::array();
  for (const ListedRun& listed : runs) {
    const RunStatus& run = listed.run;
    rows.push_back(Value::table({{"run", listed.name},
                                 {"path", listed.unit ? listed.directory : run.path.string()},
                                 {"xid", listed.unit ? Value(listed.unit->first) : Value()},
                                 {"wid", listed.unit ? Value(listed.unit->second) : Value()},
                                 {"sweep", value_from_json(listed.sweep, "the index")},
                                 {"state", listed.state},
                                 {"run_state", run.state},
                                 {"reported_state", run.reported},
                                 {"step", known_or_null(run.step)},
                                 {"target", known_or_null(run.target)},
                                 {"mode", run.mode},
                                 {"attempt", known_or_null(run.attempt)},
                                 {"host", run.host},
                                 {"pid", known_or_null(run.pid)},
                                 {"started", known_or_null(run.started)},
                                 {"time", known_or_null(listed.time)},
                                 {"age", listed.time < 0 ? Value() : Value(now - listed.time)},
                                 {"message", run.message},
                                 {"train", record_value(run.last.train)},
                                 {"eval", record_value(run.last.eval)},
                                 {"best", ranges_value(listed.ranges)},
                                 {"problem", run.problem}}));
  }
  return rows;
}

}  // namespace trivet
