// SPDX-License-Identifier: Apache-2.0
// trivet diff: compares the configs and the metrics of two runs.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "base/format.h"
#include "base/terminal.h"
#include "cli/command_info.h"
#include "cli/view/text_table.h"
#include "config/resolver.h"
#include "config/tree/value_diff.h"
#include "rundir/metrics_reader.h"
#include "rundir/run_plugins.h"
#include "trivet/config/enums.h"
#include "trivet/config/json.h"
#include "trivet/error.h"

namespace trivet {
namespace {

namespace fs = std::filesystem;

constexpr OptionSpec kDiffOptions[] = {
    {.name = "json", .doc = "Print JSON"},
};

struct NumberPair {
  std::string name;  // "eval/accuracy"
  std::optional<double> first, second;

  bool differs() const {
    const bool both_nan = first && second && std::isnan(*first) && std::isnan(*second);
    return !both_nan && first != second;
  }
};

struct RunDifference {
  std::vector<ValueDifference> config;
  std::vector<PluginChange> plugins;
  LastRecords first, second;
  std::vector<NumberPair> numbers;  // of the last records, without speeds

  bool any() const {
    return !config.empty() || !plugins.empty() ||
           std::any_of(numbers.begin(), numbers.end(),
                       [](const auto& pair) { return pair.differs(); });
  }
};

void pair_numbers(const std::optional<MetricsRecord>& first,
                  const std::optional<MetricsRecord>& second, RecordKind kind,
                  std::vector<NumberPair>& pairs) {
  Logs names;
  for (const auto* record : {&first, &second}) {
    if (*record) names.merge((*record)->values);
  }
  const auto number_in = [](const std::optional<MetricsRecord>& record, const std::string& name) {
    const double* number = record ? record->values.find(name) : nullptr;
    return number != nullptr ? std::optional(*number) : std::nullopt;
  };
  for (const Logs::Entry& entry : names) {
    pairs.push_back({fmt::format("{}/{}", enum_name(kind), entry.first),
                     number_in(first, entry.first), number_in(second, entry.first)});
  }
}

fs::path config_of(const std::string& run) {
  fs::path file = fs::path(run) / "config.toml";
  std::error_code ignored;
  if (!fs::exists(file, ignored)) {
    throw UsageError("'" + run + "' is not a run: it has no config.toml",
                     {.hint = "trivet ls DIR lists the runs below a directory"});
  }
  return file;
}

RunDifference compare(const std::string& first, const std::string& second) {
  const fs::path one = config_of(first), other = config_of(second);
  RunDifference found;
  found.config = differences(read_run_config(one), read_run_config(other));
  found.plugins = plugin_changes(recorded_plugins(first), recorded_plugins(second));
  found.first = last_records(fs::path(first) / "metrics.jsonl");
  found.second = last_records(fs::path(second) / "metrics.jsonl");
  pair_numbers(found.first.eval, found.second.eval, RecordKind::eval, found.numbers);
  pair_numbers(found.first.train, found.second.train, RecordKind::train, found.numbers);
  return found;
}

std::string number_text(const std::optional<double>& number) {
  return number ? format_number(*number) : "-";
}

std::string change_text(const NumberPair& pair) {
  if (!pair.first || !pair.second) return "";
  const double change = *pair.second - *pair.first;
  if (change == 0 || !std::isfinite(change)) return pair.differs() ? "" : "=";
  return (change > 0 ? "+" : "") + format_number(change);
}

Value step_of(const std::optional<MetricsRecord>& record) {
  return record ? Value(record->step) : Value();
}

std::string steps_text(const LastRecords& records) {
  const auto step = [](const std::optional<MetricsRecord>& record) {
    return record ? std::to_string(record->step) : "-";
  };
  return fmt::format("train {}, eval {}", step(records.train), step(records.eval));
}

std::string plugins_text(const std::vector<PluginChange>& plugins, const std::string& first,
                         const std::string& second, int width) {
  TextTable table;
  for (const std::string& head : {std::string("PLUGIN"), first, second}) table.column(head);
  for (const PluginChange& one : plugins) {
    table.row(
        {one.name, one.before.empty() ? "-" : one.before, one.after.empty() ? "-" : one.after});
  }
  return table.text(width);
}

std::string text_of(const RunDifference& found, const std::string& first, const std::string& second,
                    int width) {
  std::string text;
  if (found.config.empty()) {
    text += "The configs are equal.\n";
  } else {
    TextTable table;
    for (const std::string& head : {std::string("CONFIG"), first, second}) table.column(head);
    for (const ValueDifference& one : found.config) {
      table.row(
          {one.path, one.before.empty() ? "-" : one.before, one.after.empty() ? "-" : one.after});
    }
    text += table.text(width);
  }
  if (!found.plugins.empty()) text += "\n" + plugins_text(found.plugins, first, second, width);
  if (found.numbers.empty()) return text + "\nNeither run has metrics.\n";
  using Align = TextTable::Align;
  TextTable table;
  table.column("METRIC");
  for (const std::string& head : {first, second, std::string("CHANGE")}) {
    table.column(head, Align::right);
  }
  table.row({"(last step)", steps_text(found.first), steps_text(found.second), ""});
  for (const NumberPair& pair : found.numbers) {
    table.row({pair.name, number_text(pair.first), number_text(pair.second), change_text(pair)});
  }
  return text + "\n" + table.text(width);
}

Value json_of(const std::optional<double>& number) {
  return number ? json_number(*number) : Value();
}

Value json_of(const RunDifference& found) {
  const auto text_or_null = [](const std::string& text) {
    return text.empty() ? Value() : Value(text);
  };
  Value config = Value::array(), numbers = Value::array();
  for (const ValueDifference& one : found.config) {
    config.push_back(Value::table({{"path", one.path},
                                   {"first", text_or_null(one.before)},
                                   {"second", text_or_null(one.after)}}));
  }
  for (const NumberPair& pair : found.numbers) {
    numbers.push_back(Value::table(
        {{"metric", pair.name}, {"first", json_of(pair.first)}, {"second", json_of(pair.second)}}));
  }
  Value plugins = Value::array();
  for (const PluginChange& one : found.plugins) {
    plugins.push_back(Value::table({{"name", one.name},
                                    {"first", text_or_null(one.before)},
                                    {"second", text_or_null(one.after)}}));
  }
  const auto steps = [](const LastRecords& records) {
    return Value::table({{"train", step_of(records.train)}, {"eval", step_of(records.eval)}});
  };
  return Value::table(
      {{"config", std::move(config)},
       {"plugins", std::move(plugins)},
       {"steps", Value::table({{"first", steps(found.first)}, {"second", steps(found.second)}})},
       {"metrics", std::move(numbers)}});
}

int run_diff(std::span<const std::string> words) {
  const Arguments arguments = parse_arguments(words, kDiffOptions);
  const std::vector<std::string> runs = arguments.plain();
  if (runs.size() != 2) throw UsageError("'trivet diff' takes two runs");
  const RunDifference found = compare(runs[0], runs[1]);
  const int width = is_screen(stdout) ? terminal_columns(1) : 0;
  print_out(arguments.has("json") ? to_json(json_of(found), JsonStyle::indented)
                                  : text_of(found, runs[0], runs[1], width));
  return found.any() ? 1 : 0;
}

}  // namespace

extern const CommandInfo kDiffCommand{
    .name = "diff",
    .usage = "diff RUN RUN [--json]",
    .summary = "Compares the configs and the last metrics of two runs",
    .details =
        "Prints every value of config.toml that differs, plugins of which the runs used\n"
        "different builds, and the metrics of the last training and evaluation records with\n"
        "their change. The exit code is 1 if anything differs. Speeds are not compared. The\n"
        "runs may still be running.",
    .options = kDiffOptions,
    .operand = Operand::path,
    .run = run_diff,
};

}  // namespace trivet
