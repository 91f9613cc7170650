// SPDX-License-Identifier: Apache-2.0
// trivet ls: lists the runs and work units of a directory with their states and metrics.
#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "base/file_stamp.h"
#include "base/terminal.h"
#include "cli/command_info.h"
#include "cli/experiment_command.h"
#include "cli/view/run_numbers.h"
#include "cli/view/run_table.h"
#include "launch/index/experiment_index.h"
#include "launch/store/experiment_id.h"
#include "rundir/run_status.h"
#include "trivet/config/enums.h"
#include "trivet/config/json.h"
#include "trivet/error.h"

namespace trivet {
namespace {

namespace fs = std::filesystem;

constexpr OptionSpec kLsOptions[] = {
    kRootOption,
    {.name = "metric",
     .letter = 'm',
     .value = "NAME",
     .doc = "Add a column with the last value of this metric",
     .repeatable = true},
    {.name = "best",
     .letter = 'b',
     .value = "NAME",
     .doc = "Add a column with the best evaluation; NAME:min: the lowest, NAME:max: the highest",
     .repeatable = true},
    {.name = "state", .value = "STATE", .doc = "List only runs in this state", .repeatable = true},
    {.name = "sort",
     .value = "COLUMN",
     .doc = "Sort by run, state, step, age, an argument of a sweep or a metric"},
    {.name = "reverse", .letter = 'r', .doc = "Reverse the order"},
    {.name = "json", .doc = "Print JSON with all data of every run"},
};

// The subject of the listing: a directory or one experiment.
struct Listing {
  fs::path root;
  std::optional<ExperimentId> experiment;
  std::vector<ListedRun> runs;
  std::string diagnostics;
};

std::string name_in(const fs::path& run, const fs::path& root) {
  const fs::path relative = run.lexically_relative(root);
  return relative == "." || relative.empty() ? run.string() : relative.string();
}

bool is_experiment_name(const std::string& text) {
  return text == "@last" || (!text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
           return c >= '0' && c <= '9';
         }));
}

Listing parse_listing(const Arguments& arguments) {
  const std::vector<std::string> plain = arguments.plain();
  if (plain.size() > 1) {
    throw UsageError("'trivet ls' takes one directory or experiment; unexpected '" + plain[1] +
                     "'");
  }
  const fs::path root = experiments_root(arguments.last("root"));
  if (plain.empty()) return {root.lexically_normal(), {}, {}, {}};
  std::error_code ignored;
  const bool is_there = fs::is_directory(plain[0], ignored);
  if (is_there && !fs::exists(fs::path(plain[0]) / "experiment.json", ignored)) {
    return {fs::path(plain[0]).lexically_normal(), {}, {}, {}};
  }
  if (!is_there && !is_experiment_name(plain[0])) {
    throw UsageError("'" + plain[0] + "' is neither a directory nor an experiment's number",
                     {.hint = "trivet ls lists the runs and experiments in runs/"});
  }
  return {root, find_experiment(plain[0], root), {}, {}};
}

void add_plain_runs(Listing& listing, const std::set<fs::path>& experiments) {
  for (const fs::path& path : find_runs(listing.root, experiments)) {
    ListedRun row;
    row.run = run_info(path);
    // A directory that is removed during the listing is skipped.
    if (!row.run.problem.empty() && !is_run(path)) continue;
    row.name = name_in(path, listing.root);
    row.state = row.run.state;
    row.time = row.run.time;
    listing.runs.push_back(std::move(row));
  }
}

void add_units(Listing& listing, ExperimentIndex& index, std::optional<std::int64_t> xid) {
  std::vector<UnitRun> units = index.units(xid);
  listing.runs.reserve(listing.runs.size() + units.size());
  for (UnitRun& unit : units) {
    ListedRun& row = listing.runs.emplace_back();
    row.unit = unit.id;
    row.name = fmt::format("{}/{}", unit.id.first, unit.id.second);
    row.state = enum_name(unit.state);
    row.directory = std::move(unit.directory);
    row.sweep = std::move(unit.sweep);
    row.cells = sweep_cells_from_json(row.sweep);
    row.time = std::max(unit.run.time, unit.changed > 0 ? unit.changed : -1);
    row.run = std::move(unit.run);
  }
}

void keep_states(std::vector<ListedRun>& runs, const std::vector<std::string>& states) {
  if (states.empty()) return;
  std::erase_if(runs, [&](const ListedRun& run) {
    return std::find(states.begin(), states.end(), run.state) == states.end();
  });
}

void read_ranges(ListedRun& row) {
  MetricsTally tally;
  try {
    AppendedLines(row.run.path / "metrics.jsonl", {}).read([&](std::string_view line) {
      tally.take(line);
    });
  } catch (const RunError& unreadable) {
    if (row.run.problem.empty()) row.run.problem = unreadable.message();
  }
  row.ranges = tally.ranges();
}

// The names of evaluation metrics in the order of the runs; without evaluations, those of training.
std::vector<std::string> plain_names(const std::vector<ListedRun>& runs, RecordKind kind) {
  std::vector<std::string> names;
  for (const ListedRun& row : runs) {
    const auto& record = kind == RecordKind::eval ? row.run.last.eval : row.run.last.train;
    if (row.unit || !record) continue;
    for (const auto& [name, value] : record->values) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

std::vector<NumberColumn> default_columns(const Listing& listing, ExperimentIndex& index) {
  const auto is_launched = [](const ListedRun& row) { return row.unit.has_value(); };
  const bool launched = std::any_of(listing.runs.begin(), listing.runs.end(), is_launched);
  const auto xid = listing.experiment ? std::optional(listing.experiment->xid) : std::nullopt;
  for (const RecordKind kind : {RecordKind::eval, RecordKind::train}) {
    std::vector<std::string> names = plain_names(listing.runs, kind);
    if (launched) {
      for (std::string& name : index.number_names(kind, xid)) {
        if (std::find(names.begin(), names.end(), name) == names.end()) {
          names.push_back(std::move(name));
        }
      }
    }
    std::vector<NumberColumn> columns;
    const bool best = launched && kind == RecordKind::eval;
    for (const std::string& name : names) {
      columns.push_back(best ? best_column(name) : last_column(name));
    }
    if (!columns.empty()) return columns;
  }
  return {};
}

std::vector<NumberColumn> columns_of(const Arguments& arguments, const Listing& listing,
                                     ExperimentIndex& index) {
  std::vector<NumberColumn> columns;
  for (const std::string& name : arguments.all("metric")) columns.push_back(last_column(name));
  for (const std::string& name : arguments.all("best")) columns.push_back(best_column(name));
  return columns.empty() ? default_columns(listing, index) : columns;
}

void fill(std::vector<ListedRun>& runs, const std::vector<NumberColumn>& columns,
          ExperimentIndex& index) {
  const bool best = std::any_of(columns.begin(), columns.end(), [](const NumberColumn& column) {
    return column.which != WhichNumber::last;
  });
  for (ListedRun& row : runs) {
    if (best && !row.unit) read_ranges(row);
  }
  for (const NumberColumn& column : columns) {
    const NumberName name = parse_number_name(column.name);
    const UnitNumbers numbers = index.numbers(name.name, name.kind, column.which);
    for (ListedRun& row : runs) {
      row.shown.push_back(row.unit ? number_of(numbers, *row.unit) : number_in(row, column));
    }
  }
}

void fill_all(std::vector<ListedRun>& runs, ExperimentIndex& index) {
  std::map<UnitId, RunNumbers> numbers = index.all_numbers();
  for (ListedRun& row : runs) {
    if (!row.unit) {
      read_ranges(row);
    } else if (const auto found = numbers.find(*row.unit); found != numbers.end()) {
      row.run.last = std::move(found->second.last);
      row.ranges = std::move(found->second.ranges);
    }
  }
}

void collect(Listing& listing, ExperimentIndex& index) {
  std::error_code ignored;
  std::set<fs::path> experiments;
  for (const ExperimentView& view : index.experiments()) {
    if (listing.experiment && view.xid != listing.experiment->xid) continue;
    experiments.insert(view.directory);
    listing.diagnostics += problems_text(view);
  }
  if (!listing.experiment) listing.diagnostics += unfinished_text(listing.root);
  if (listing.experiment) return add_units(listing, index, listing.experiment->xid);
  if (fs::exists(listing.root, ignored)) add_plain_runs(listing, experiments);
  const bool mixed = !listing.runs.empty();
  add_units(listing, index, {});
  if (!mixed) return;
  std::stable_sort(
      listing.runs.begin(), listing.runs.end(),
      [](const ListedRun& a, const ListedRun& b) { return natural_less(a.name, b.name); });
}

int run_ls(std::span<const std::string> words) {
  const Arguments arguments = parse_arguments(words, kLsOptions);
  Listing listing = parse_listing(arguments);
  // The default directory may not exist yet. A named directory must exist.
  if (!listing.experiment && !arguments.plain().empty()) find_runs(listing.root, {listing.root});
  ExperimentIndex index =
      listing.experiment ? ExperimentIndex(*listing.experiment) : ExperimentIndex(listing.root);
  collect(listing, index);
  keep_states(listing.runs, arguments.all("state"));
  const bool json = arguments.has("json");
  const std::string* sort = arguments.last("sort");
  const std::vector<NumberColumn> columns =
      json && sort == nullptr ? std::vector<NumberColumn>() : columns_of(arguments, listing, index);
  fill(listing.runs, columns, index);
  if (sort != nullptr || arguments.has("reverse")) {
    sort_runs(listing.runs, sort != nullptr ? *sort : "run", arguments.has("reverse"), columns);
  }
  if (json) {
    fill_all(listing.runs, index);
    print_out(to_json(json_of_runs(listing.runs), JsonStyle::indented));
    return 0;
  }
  if (listing.runs.empty()) {
    print_out(fmt::format("No runs in {}.\n", listing.root.string()) + listing.diagnostics);
    return 0;
  }
  const int width = is_screen(stdout) ? terminal_columns(1) : 0;
  print_out(run_table(listing.runs, columns, width) + listing.diagnostics);
  return 0;
}

}  // namespace

extern const CommandInfo kLsCommand{
    .name = "ls",
    .usage = "ls [DIR|XID] [--json]",
    .summary = "Lists runs and launched work units with states, steps and metrics",
    .details =
        "  trivet ls                       the runs and work units in runs/\n"
        "  trivet ls 3 --sort accuracy -r  those of experiment 3, the most accurate first\n"
        "  trivet ls DIR -m accuracy       those below DIR, with one metric\n"
        "\n"
        "Work units have a column for each argument of their sweep and for the best value of\n"
        "each evaluation metric; other runs show the last value. Lower is better for names\n"
        "with \"loss\", \"error\", \"perplexity\", \"mse\", \"mae\" or \"_nll\"; --best NAME:min\n"
        "or NAME:max overrides this. NAME is a name in metrics.jsonl; train/NAME and eval/NAME\n"
        "distinguish training from evaluation. A terminal shows as many columns as fit.\n"
        "\n"
        "Work units have the states of 'trivet status'. Runs have the states of status.json:\n"
        "starting, running, saving, evaluating, waiting, done, failed, interrupted (by Ctrl-C)\n"
        "or preempted (by another signal). trivet ls infers two more:\n"
        "  lost     the run's process is gone without an end state (killed, or machine failure)\n"
        "  silent   no sign of life for 30 seconds: it hangs, is stopped, or was lost elsewhere\n"
        "trivet run ... --workdir RUN continues both. AGE is the time since the last sign of\n"
        "life.",
    .options = kLsOptions,
    .operand = Operand::path,
    .run = run_ls,
};

}  // namespace trivet
