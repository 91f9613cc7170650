// SPDX-License-Identifier: Apache-2.0
// trivet show ID: prints all data of an experiment, a work unit or a job.
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/terminal.h"
#include "base/terminal_text.h"
#include "cli/command_info.h"
#include "cli/experiment_command.h"
#include "cli/experiment_refresher.h"
#include "launch/index/experiment_index.h"
#include "launch/store/disk_records.h"
#include "launch/store/experiment_id.h"
#include "launch/unit_text.h"
#include "trivet/config/enums.h"
#include "trivet/config/json.h"
#include "trivet/error.h"
#include "trivet/launch/attempt.h"
#include "trivet/text/strings.h"

namespace trivet {
namespace {

using launch::JobStatus;

constexpr OptionSpec kShowOptions[] = {
    kRootOption,
    {.name = "json", .doc = "Print JSON"},
};

// Those that have been started.
std::vector<launch::AttemptInfo> attempts_of(const launch::Job& job, const JobStatus& status) {
  std::vector<launch::AttemptInfo> attempts;
  for (std::int64_t attempt = 1; attempt <= status.attempt; ++attempt) {
    launch::AttemptInfo info = launch::read_attempt(job, attempt);
    if (info.processes > 0) attempts.push_back(std::move(info));
  }
  return attempts;
}

// The numbers of processes that the attempts of a run had, where it may have several.
std::string attempts_text(const launch::Job& job, const JobStatus& status) {
  if (job.processes == 1) return {};
  std::string text;
  for (const launch::AttemptInfo& info : attempts_of(job, status)) {
    text += fmt::format("    attempt {}: {} on {}\n", info.status.attempt,
                        count_of(info.processes, "process", "processes"), info.status.host);
  }
  return text;
}

Value attempts_value(const launch::Job& job, const JobStatus& status) {
  Value rows = Value::array();
  for (const launch::AttemptInfo& info : attempts_of(job, status)) {
    rows.push_back(Value::table({{"attempt", info.status.attempt},
                                 {"processes", info.processes},
                                 {"host", info.status.host}}));
  }
  return rows;
}

std::string job_text(const launch::Job& job, const JobStatus& status) {
  std::string text = fmt::format("  {}  {}", job.name, enum_name(status.state));
  const std::string detail = detail_text(status);
  text += (detail.empty() ? "" : " (" + detail + ")") + "\n    " + command_line(job) + "\n";
  for (const auto& [name, value] : job.env) text += "    " + name + "=" + shell_word(value) + "\n";
  text += "    " + needs_text(job) + "\n" + attempts_text(job, status);
  if (status.attempt > 0) {
    text += "    " + (job.directory / std::to_string(status.attempt)).string() + "\n";
  }
  return text;
}

int run_show(std::span<const std::string> words) {
  const Arguments arguments = parse_arguments(words, kShowOptions);
  const std::vector<std::string> plain = arguments.plain();
  if (plain.size() != 1) throw UsageError("'trivet show' takes one ID");
  const ExperimentId id = find_experiment(plain[0], experiments_root(arguments.last("root")));
  ExperimentIndex index(id);
  const ExperimentView view = ExperimentRefresher().view(index, id);
  DiskRecords records(id.directory);
  if (arguments.has("json")) {
    Value all = view_value(view);
    Value& units = *all.find("units");
    for (std::size_t i = 0; i < view.units.size(); ++i) {
      const launch::WorkUnit* unit = records.find_unit(view.units[i].wid);
      if (unit == nullptr) continue;
      units.items()[i].set("record", launch::to_value(*unit));
      Value& jobs = *units.items()[i].find("jobs");
      for (const launch::Job& job : unit->jobs) {
        Value* row = jobs.find(job.name);
        if (row == nullptr) continue;
        row->set("attempts", attempts_value(job, records.status(unit->wid, job.name)));
      }
    }
    print_out(to_json(all, JsonStyle::indented));
    return 0;
  }
  std::string text = head_text(view);
  for (const UnitView& seen : view.units) {
    const launch::WorkUnit* unit = records.find_unit(seen.wid);
    if (unit == nullptr || unit->jobs.size() != seen.jobs.size()) continue;
    text += fmt::format("unit {}  {}  {}\n", seen.wid, enum_name(seen.state),
                        printable(seen.directory.string()));
    for (std::size_t i = 0; i < seen.jobs.size(); ++i) {
      if (id.job && seen.jobs[i].name != *id.job) continue;
      text += job_text(unit->jobs[i], seen.jobs[i].status);
    }
  }
  print_out(printable(text));
  return 0;
}

}  // namespace

extern const CommandInfo kShowCommand{
    .name = "show",
    .usage = "show ID",
    .summary = "Prints all data of an experiment or a unit: commands, environment, directories",
    .details = "",
    .options = kShowOptions,
    .operand = Operand::path,
    .run = run_show,
};

}  // namespace trivet
