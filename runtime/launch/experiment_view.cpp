// SPDX-License-Identifier: Apache-2.0
#include "launch/experiment_view.h"

#include <system_error>

#include <fmt/core.h>

#include "cli/text_columns.h"
#include "launch/supervisor.h"
#include "train/file_io.h"
#include "trivet/enums.h"
#include "trivet/error.h"
#include "trivet/json.h"
#include "trivet/launch/attempt.h"

namespace trivet {
namespace {

namespace fs = std::filesystem;
using launch::JobState;
using launch::JobStatus;

// An event is as old as whoever could write it; the files of the attempt know better.
JobStatus as_of_now(const launch::Job& job, const JobStatus& recorded) {
  if (recorded.state != JobState::running || recorded.attempt < 1) return recorded;
  const launch::AttemptInfo seen = launch::read_attempt(job, recorded.attempt);
  if (seen.phase != launch::AttemptPhase::ended && seen.phase != launch::AttemptPhase::lost) {
    return recorded;
  }
  return launch::after_attempt(job, recorded, seen.status);
}

}  // namespace

std::int64_t ExperimentView::xid() const {
  const Value* value = facts.find("xid");
  return value != nullptr && value->is_integer() ? value->as_integer() : 0;
}

std::string ExperimentView::fact(std::string_view name) const {
  const Value* value = facts.find(name);
  return value != nullptr && value->is_text() ? value->as_text() : std::string();
}

std::map<JobState, std::int64_t> ExperimentView::counts() const {
  std::map<JobState, std::int64_t> counts;
  for (const UnitView& unit : units) ++counts[unit.state];
  return counts;
}

ExperimentView view_experiment(const fs::path& directory) {
  ExperimentView view;
  view.directory = directory;
  const fs::path file = directory / "experiment.json";
  std::error_code ignored;
  if (!fs::exists(file, ignored)) throw RunError(directory.string() + " holds no experiment");
  view.facts = value_from_json(read_text(file), file.string());
  view.supervised = has_supervisor_at_work(directory);
  DiskRecords records(directory);
  for (const launch::WorkUnit& unit : records.all_units()) {
    UnitView& seen = view.units.emplace_back(UnitView{unit, {}, {}});
    for (const launch::Job& job : unit.jobs) {
      seen.jobs.push_back(as_of_now(job, records.status(unit.wid, job.name)));
    }
    seen.state = unit_state(seen.jobs);
  }
  return view;
}

Value view_value(const UnitView& view) {
  Value sweep = Value::table(), jobs = Value::table();
  for (const auto& [name, value] : view.unit.sweep.args) sweep.set(name, value);
  for (std::size_t i = 0; i < view.jobs.size(); ++i) {
    const launch::Job& job = view.unit.jobs[i];
    Value row = to_value(launch::JobEvent{view.unit.wid, job.name, view.jobs[i]});
    row.erase("wid");
    row.erase("job");
    row.set("directory", job.directory.string());
    jobs.set(job.name, row);
  }
  return Value::table({{"wid", view.unit.wid},
                       {"state", enum_name(view.state)},
                       {"wu_dir", view.unit.directory.string()},
                       {"sweep", sweep},
                       {"jobs", jobs}});
}

Value view_value(const ExperimentView& view) {
  Value counts = Value::table(), units = Value::array();
  for (const auto& [state, count] : view.counts()) counts.set(enum_name(state), count);
  for (const UnitView& unit : view.units) units.push_back(view_value(unit));
  Value all = view.facts;
  all.set("xp_dir", view.directory.string());
  all.set("supervised", view.supervised);
  all.set("states", counts);
  all.set("units", units);
  return all;
}

std::string counts_text(const std::map<JobState, std::int64_t>& counts) {
  std::string text;
  for (const auto& [state, count] : counts) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, enum_name(state));
  }
  return text.empty() ? "no work units" : text;
}

const UnitView& unit_of(const ExperimentView& view, std::int64_t wid) {
  for (const UnitView& unit : view.units) {
    if (unit.unit.wid == wid) return unit;
  }
  throw UsageError(fmt::format("experiment {} has no work unit {}", view.xid(), wid),
                   {.hint = fmt::format("it has {}", view.units.size())});
}

std::string head_text(const ExperimentView& view) {
  std::string text = fmt::format("experiment {}  {}  {}\n", view.xid(),
                                 printable(view.fact("name")), view.directory.string());
  if (const std::string note = view.fact("note"); !note.empty())
    text += "  " + printable(note) + "\n";
  text += "  " + counts_text(view.counts());
  // An orchestrator that works without a supervisor has left no lock.
  std::error_code ignored;
  const bool had_one = fs::exists(view.directory / "supervisor.lock", ignored);
  return text + (view.supervised || !had_one ? "" : "; no supervisor is at work") + "\n";
}

// Why a job is as it is: "exit code 1, attempt 2".
std::string detail_text(const JobStatus& status) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (status.exit_code && *status.exit_code != 0)
    add(fmt::format("exit code {}", *status.exit_code));
  if (status.signal != 0) add(fmt::format("signal {}", status.signal));
  if (status.attempt > 1) add(fmt::format("attempt {}", status.attempt));
  if (!status.detail.empty()) add(printable(status.detail));
  return text;
}

}  // namespace trivet
