// SPDX-License-Identifier: Apache-2.0
//
// trivet ls: the runs of a directory with what they are doing and have reached.
#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "cli/commands.h"
#include "cli/progress.h"
#include "cli/run_numbers.h"
#include "cli/terminal.h"
#include "cli/text_table.h"
#include "train/process_info.h"
#include "train/run_info.h"
#include "trivet/error.h"
#include "trivet/json.h"

namespace trivet {
namespace {

namespace fs = std::filesystem;

constexpr OptionSpec kOptions[] = {
    {.name = "metric",
     .letter = 'm',
     .value = "NAME",
     .doc = "A column for this number; without it: those of evaluations",
     .repeatable = true},
    {.name = "json", .doc = "Print JSON: everything that is known of every run"},
};

std::string name_in(const fs::path& run, const fs::path& root) {
  const fs::path relative = run.lexically_relative(root);
  return relative == "." || relative.empty() ? run.string() : relative.string();
}

std::string step_text(const RunInfo& run) {
  if (run.step < 0) return "-";
  return run.target > 0 ? fmt::format("{}/{}", run.step, run.target) : std::to_string(run.step);
}

// The numbers of evaluations, or of training where nothing was evaluated, in the order of the runs.
std::vector<std::string> metric_names(const std::vector<RunInfo>& runs) {
  std::vector<std::string> names;
  const auto collect = [&](const std::optional<MetricsRecord>& record) {
    if (!record) return;
    for (const auto& [name, value] : record->values) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  };
  for (const RunInfo& run : runs) collect(run.last.eval);
  if (!names.empty()) return names;
  for (const RunInfo& run : runs) collect(run.last.train);
  return names;
}

std::string listing(const std::vector<RunInfo>& runs, const fs::path& root,
                    const std::vector<std::string>& metrics, int width) {
  using Align = TextTable::Align;
  TextTable table;
  table.column("RUN");
  table.column("STATE");
  table.column("STEP", Align::right);
  table.column("AGE", Align::right);
  for (const std::string& metric : metrics) table.column(metric, Align::right);
  const double now = unix_time();
  for (const RunInfo& run : runs) {
    std::vector<std::string> cells = {
        name_in(run.path, root), run.state, step_text(run),
        run.time < 0 ? "-" : format_duration(std::max(0.0, now - run.time))};
    for (const std::string& metric : metrics) {
      const double* number = find_number(run.last, metric);
      cells.push_back(number != nullptr ? format_number(*number) : "-");
    }
    table.row(std::move(cells));
  }
  return table.text(width);
}

Value record_value(const std::optional<MetricsRecord>& record) {
  if (!record) return {};
  return Value::table({{"step", record->step},
                       {"values", json_numbers(record->values)},
                       {"rates", json_numbers(record->rates)}});
}

Value known(std::int64_t number) {
  return number < 0 ? Value() : Value(number);
}

Value known(double number) {
  return number < 0 ? Value() : Value(number);
}

Value json_of_runs(const std::vector<RunInfo>& runs, const fs::path& root) {
  const double now = unix_time();
  Value rows = Value::array();
  for (const RunInfo& run : runs) {
    rows.push_back(Value::table({{"run", name_in(run.path, root)},
                                 {"path", run.path.string()},
                                 {"state", run.state},
                                 {"reported_state", run.reported},
                                 {"step", known(run.step)},
                                 {"target", known(run.target)},
                                 {"mode", run.mode},
                                 {"attempt", known(run.attempt)},
                                 {"host", run.host},
                                 {"pid", known(run.pid)},
                                 {"started", known(run.started)},
                                 {"time", known(run.time)},
                                 {"age", run.time < 0 ? Value() : Value(now - run.time)},
                                 {"message", run.message},
                                 {"train", record_value(run.last.train)},
                                 {"eval", record_value(run.last.eval)},
                                 {"problem", run.problem}}));
  }
  return rows;
}

int run_ls(std::span<const std::string> words) {
  const Arguments arguments = parse_arguments(words, kOptions);
  const std::vector<std::string> plain = arguments.plain();
  if (plain.size() > 1) {
    throw UsageError("'trivet ls' takes one directory, '" + plain[1] + "' is another");
  }
  const fs::path root = plain.empty() ? "runs" : plain[0];
  std::error_code ignored;
  const bool is_there = !plain.empty() || fs::exists(root, ignored);
  std::vector<RunInfo> runs;
  for (const fs::path& path : is_there ? find_runs(root) : std::vector<fs::path>()) {
    RunInfo info = run_info(path);
    // One that is being removed while it is listed is none.
    if (info.problem.empty() || is_run(path)) runs.push_back(std::move(info));
  }
  if (arguments.has("json")) {
    print_out(to_json(json_of_runs(runs, root), JsonStyle::indented));
    return 0;
  }
  if (runs.empty()) {
    print_out(fmt::format("There are no runs in {}.\n", root.string()));
    return 0;
  }
  std::vector<std::string> metrics = arguments.all("metric");
  if (metrics.empty()) metrics = metric_names(runs);
  const int width = is_screen(stdout) ? terminal_columns(1) : 0;
  print_out(listing(runs, root, metrics, width));
  return 0;
}

}  // namespace

const CommandInfo kLsCommand{
    .name = "ls",
    .usage = "ls [DIR] [--json]",
    .summary = "Lists runs with their states, steps and metrics",
    .details =
        "  trivet ls                       the runs in runs/\n"
        "  trivet ls DIR -m accuracy       those below DIR, with one number\n\n"
        "States are those of status.json: starting, running, saving, evaluating, waiting; done,\n"
        "failed, interrupted (by Ctrl-C), preempted (by another signal). Two are told by looking:\n"
        "  lost     the run's process is gone and has not said why (killed, or the machine was)\n"
        "  silent   no sign of life for 30 seconds: it hangs, is stopped, or was lost elsewhere\n"
        "Both kinds continue with trivet run ... --workdir RUN. AGE is the time since the last\n"
        "sign of life. A NAME is that of a number in metrics.jsonl; train/NAME and eval/NAME tell\n"
        "two of one name apart. A terminal shows as many columns as fit.",
    .options = kOptions,
    .operand = Operand::path,
    .run = run_ls,
};

}  // namespace trivet
