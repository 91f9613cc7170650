// SPDX-License-Identifier: Apache-2.0
// trivet status [ID]: shows the states of experiments, work units and jobs.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "base/format.h"
#include "base/process_info.h"
#include "base/terminal.h"
#include "base/terminal_text.h"
#include "cli/command_info.h"
#include "cli/experiment_command.h"
#include "cli/experiment_refresher.h"
#include "cli/view/sweep_columns.h"
#include "cli/view/text_table.h"
#include "launch/index/experiment_index.h"
#include "launch/store/experiment_id.h"
#include "launch/store/search_view.h"
#include "rundir/evaluations.h"
#include "trivet/config/enums.h"
#include "trivet/config/json.h"
#include "trivet/error.h"

namespace trivet {
namespace {

namespace fs = std::filesystem;
constexpr OptionSpec kStatusOptions[] = {
    kRootOption,
    kPluginDirOption,
    {.name = "importance",
     .doc = "For a search, also print how much each key of its space matters: the part of the "
            "objective's variance that the key explains alone (functional ANOVA)"},
    {.name = "json", .doc = "Print JSON"},
};

std::string age_text(double time, double now) {
  return time <= 0 ? "-" : format_duration(std::max(0.0, now - time));
}

std::vector<std::string> sweep_names(const std::vector<UnitView>& units) {
  std::vector<std::string> names;
  for (const UnitView& unit : units) add_sweep_names(sweep_cells(unit.sweep), names);
  return names;
}

std::string jobs_text(const UnitView& unit) {
  std::string text;
  for (const JobView& job : unit.jobs) {
    const std::string detail = detail_text(job.status);
    text += fmt::format("{}{} {}{}", text.empty() ? "" : "; ", job.name,
                        enum_name(job.status.state), detail.empty() ? "" : " (" + detail + ")");
  }
  return text;
}

// A trial that the search stopped early is not shown as cancelled.
std::string_view state_text(const UnitView& unit, const TrialView* trial) {
  const bool is_stopped = trial != nullptr && trial->state == "stopped";
  return is_stopped && unit.state == launch::JobState::cancelled ? "stopped"
                                                                 : enum_name(unit.state);
}

std::string value_text(const TrialView* trial) {
  if (trial == nullptr || !trial->value) return "-";
  if (trial->values.empty()) return fmt::format("{:.6g}", *trial->value);
  std::string text;
  for (const double value : trial->values) {
    text += fmt::format("{}{:.6g}", text.empty() ? "" : ", ", value);
  }
  return text;
}

std::string units_table(const ExperimentView& view, const std::optional<SearchView>& search,
                        int width) {
  using Align = TextTable::Align;
  TextTable table;
  const std::vector<std::string> names = sweep_names(view.units);
  table.column("WID", Align::right);
  table.column("STATE");
  table.column("AGE", Align::right);
  if (search) table.column("VALUE", Align::right);
  for (const std::string& name : names) table.column(name, Align::right);
  table.column("JOBS");
  const double now = unix_time();
  for (const UnitView& unit : view.units) {
    const TrialView* trial = search ? search->of_unit(unit.wid) : nullptr;
    std::vector<std::string> cells = {std::to_string(unit.wid),
                                      std::string(state_text(unit, trial)),
                                      age_text(unit.changed, now)};
    if (search) cells.push_back(value_text(trial));
    const SweepCells sweep = sweep_cells(unit.sweep);
    for (const std::string& name : names) cells.push_back(sweep_cell(sweep, name));
    cells.push_back(jobs_text(unit));
    table.row(std::move(cells));
  }
  return table.text(width);
}

std::string experiments_text(const std::vector<ExperimentView>& views, int width) {
  using Align = TextTable::Align;
  TextTable table;
  table.column("XID", Align::right);
  table.column("NAME");
  table.column("AUTHOR");
  table.column("AGE", Align::right);
  table.column("UNITS", Align::right);
  table.column("STATES");
  const double now = unix_time();
  for (const ExperimentView& view : views) {
    table.row({std::to_string(view.xid), view.fact("name"), view.fact("author"),
               age_text(view.launched(), now), std::to_string(view.unit_count()),
               counts_text(view.counts)});
  }
  std::string text = table.text(width);
  for (const ExperimentView& view : views) text += problems_text(view);
  return text;
}

// Only for the requested unit: reading the directories of all units would take long.
std::string evaluations(const ExperimentView& view, const ExperimentId& id) {
  if (!id.wid) return {};
  return printable(evaluations_text(unit_of(view, *id.wid).directory));
}

int screen_width() {
  return is_screen(stdout) ? terminal_columns(1) : 0;
}

int run_status(std::span<const std::string> words) {
  const Arguments arguments = parse_arguments(words, kStatusOptions);
  const std::vector<std::string> plain = arguments.plain();
  if (plain.size() > 1) throw UsageError("'trivet status' takes one ID");
  const bool json = arguments.has("json");
  const fs::path root = experiments_root(arguments.last("root"));
  ExperimentRefresher refresher(absolute_folders(arguments.all("plugin-dir")));
  if (plain.empty()) {
    ExperimentIndex index(root);
    const std::vector<ExperimentView> views = refresher.all(index);
    if (json) {
      Value rows = Value::array();
      for (const ExperimentView& view : views) {
        Value row = view_value(view);
        row.erase("units");
        rows.push_back(std::move(row));
      }
      print_out(to_json(rows, JsonStyle::indented));
    } else if (views.empty()) {
      print_out(fmt::format("No experiments in {}.\n", root.string()) + unfinished_text(root));
    } else {
      print_out(experiments_text(views, screen_width()) + unfinished_text(root));
    }
    return 0;
  }
  const ExperimentId id = find_experiment(plain[0], root);
  ExperimentIndex index(id);
  const ExperimentView view = refresher.view(index, id);
  const std::optional<SearchView> search = read_search(view.directory);
  const bool weighs = arguments.has("importance");
  if (weighs && !search) {
    throw UsageError(fmt::format("experiment {} is not a search", view.xid),
                     {.hint = "--importance is for those of search/Orchestrator"});
  }
  if (json) {
    Value all = view_value(view);
    if (search) all.set("search", view_value(*search));
    if (weighs) all.find("search")->set("importance", importances_value(*search));
    print_out(to_json(all, JsonStyle::indented));
  } else {
    print_out(head_text(view) + (search ? search_text(*search) : "") +
              (weighs ? importances_text(*search) : "") +
              units_table(view, search, screen_width()) + evaluations(view, id));
  }
  const bool is_vain = search && !view.supervised && !search->failure.empty();
  return is_vain && !json ? 1 : 0;
}

}  // namespace

extern const CommandInfo kStatusCommand{
    .name = "status",
    .usage = "status [ID]",
    .summary = "Shows the states of experiments, work units and jobs",
    .details =
        "ID is XID, XID/WID or XID/WID/JOB, @last, or an experiment's directory. Default: all\n"
        "experiments of --root. For a search, also prints its goal, the best trial and the\n"
        "value of each trial; with several objectives the Pareto front instead of the best. The\n"
        "exit code is 1 if the search has ended and no trial has a value.",
    .options = kStatusOptions,
    .operand = Operand::path,
    .run = run_status,
};

}  // namespace trivet
