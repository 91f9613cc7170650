// SPDX-License-Identifier: Apache-2.0
//
// trivet status [ID]: how experiments, their work units and jobs are.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "cli/commands.h"
#include "cli/experiment_command.h"
#include "cli/experiment_refresh.h"
#include "cli/progress.h"
#include "cli/sweep_columns.h"
#include "cli/terminal.h"
#include "cli/text_table.h"
#include "launch/experiment_id.h"
#include "launch/experiment_index.h"
#include "train/process_info.h"
#include "trivet/enums.h"
#include "trivet/error.h"
#include "trivet/json.h"

namespace trivet {
namespace {

namespace fs = std::filesystem;
constexpr OptionSpec kStatusOptions[] = {
    kRootOption,
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

std::string units_table(const ExperimentView& view, int width) {
  using Align = TextTable::Align;
  TextTable table;
  const std::vector<std::string> names = sweep_names(view.units);
  table.column("WID", Align::right);
  table.column("STATE");
  table.column("AGE", Align::right);
  for (const std::string& name : names) table.column(name, Align::right);
  table.column("JOBS");
  const double now = unix_time();
  for (const UnitView& unit : view.units) {
    std::vector<std::string> cells = {std::to_string(unit.wid), std::string(enum_name(unit.state)),
                                      age_text(unit.changed, now)};
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

int screen_width() {
  return is_screen(stdout) ? terminal_columns(1) : 0;
}

int run_status(std::span<const std::string> words) {
  const Arguments arguments = parse_arguments(words, kStatusOptions);
  const std::vector<std::string> plain = arguments.plain();
  if (plain.size() > 1) throw UsageError("'trivet status' takes one ID");
  const bool json = arguments.has("json");
  const fs::path root = experiments_root(arguments.last("root"));
  ExperimentRefresher refresher;
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
      print_out(fmt::format("There are no experiments in {}.\n", root.string()) +
                unfinished_text(root));
    } else {
      print_out(experiments_text(views, screen_width()) + unfinished_text(root));
    }
    return 0;
  }
  const ExperimentId id = find_experiment(plain[0], root);
  ExperimentIndex index(id);
  const ExperimentView view = refresher.view(index, id);
  if (json) {
    print_out(to_json(view_value(view), JsonStyle::indented));
  } else {
    print_out(head_text(view) + units_table(view, screen_width()));
  }
  return 0;
}

}  // namespace

const CommandInfo kStatusCommand{
    .name = "status",
    .usage = "status [ID]",
    .summary = "How experiments, their work units and jobs are",
    .details =
        "ID is XID, XID/WID or XID/WID/JOB, @last, or an experiment's directory. Without one:\n"
        "all experiments of --root.",
    .options = kStatusOptions,
    .operand = Operand::path,
    .run = run_status,
};

}  // namespace trivet
