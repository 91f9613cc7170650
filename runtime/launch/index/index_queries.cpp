// SPDX-License-Identifier: Apache-2.0
#include "launch/index/index_queries.h"

#include <algorithm>
#include <limits>

#include <fmt/core.h>

#include "launch/index/background_watch.h"
#include "launch/index/indexed_files.h"
#include "launch/index/live_job_state.h"
#include "launch/index/run_watch.h"
#include "launch/store/disk_records.h"
#include "trivet/config/enums.h"
#include "trivet/config/json.h"
#include "trivet/error.h"

namespace trivet {
namespace {

using launch::JobState;
using launch::JobStatus;

void bind_number(Statement& statement, int location, std::optional<std::int64_t> number) {
  if (number) statement.bind(location, *number);
}

constexpr const char* kExperimentColumns =
    "xid, directory, facts, facts_problem, lines_problem, bad_units, bad_events";

std::string lines_text(std::int64_t count) {
  return fmt::format("{} line{}", count, count == 1 ? " is" : "s are");
}

std::vector<std::string> problems_of(Statement& row) {
  std::vector<std::string> diagnostics;
  const std::string directory = row.text(1);
  const std::string launch_again =
      fmt::format("'trivet launch {}/launch.toml --xid={}'", directory, row.integer(0));
  if (const std::string what = row.text(3); !what.empty()) {
    diagnostics.push_back(what + "; " + launch_again + " writes it again");
  }
  if (const std::string what = row.text(4); !what.empty()) {
    diagnostics.push_back(what + "; its data is unknown");
  }
  if (const std::int64_t bad = row.integer(5); bad > 0) {
    diagnostics.push_back(
        fmt::format("{}/units.jsonl: {} not a record of a work unit; {} adds the "
                    "missing units",
                    directory, lines_text(bad), launch_again));
  }
  if (const std::int64_t bad = row.integer(6); bad > 0) {
    diagnostics.push_back(fmt::format(
        "{0}/events.jsonl: {1} not an event of a job in {0}/units.jsonl and skipped; {2} "
        "adds the missing units, 'trivet resume {3}' updates the states of jobs",
        directory, lines_text(bad), launch_again, row.integer(0)));
  }
  return diagnostics;
}

ExperimentView view_of(Statement& row) {
  ExperimentView view;
  view.xid = row.integer(0);
  view.directory = row.text(1);
  view.facts = value_from_json(row.view(2), "the index");
  view.diagnostics = problems_of(row);
  return view;
}

// The columns from `first`: name, directory, retries, then those of the status.
JobView job_of_row(Statement& row, int first) {
  return {row.text(first), row.text(first + 1), row.integer(first + 2),
          status_of_row(row, first + 3)};
}

std::vector<JobView> jobs_of(Database& database, const UnitId& unit) {
  Statement select(database, fmt::format("SELECT name, directory, retries, {} FROM jobs "
                                         "WHERE xid = ? AND wid = ? ORDER BY position",
                                         kStatusColumns));
  select.bind(1, unit.first).bind(2, unit.second);
  std::vector<JobView> jobs;
  while (select.step()) {
    jobs.push_back(job_of_row(select, 0));
    jobs.back().status = status_now(jobs.back());
  }
  return jobs;
}

JobState state_of(const std::vector<JobView>& jobs) {
  std::vector<JobStatus> statuses;
  for (const JobView& job : jobs) statuses.push_back(job.status);
  return unit_state(statuses);
}

std::vector<UnitId> units_with_work(Database& database, std::optional<std::int64_t> xid) {
  Statement select(database,
                   "SELECT DISTINCT xid, wid FROM jobs WHERE state = 'running' AND "
                   "(?1 IS NULL OR xid = ?1) ORDER BY xid, wid");
  bind_number(select, 1, xid);
  std::vector<UnitId> units;
  while (select.step()) units.emplace_back(select.integer(0), select.integer(1));
  return units;
}

// Units with a job that should be running.
std::map<UnitId, JobState> states_now(Database& database, std::optional<std::int64_t> xid) {
  std::map<UnitId, JobState> states;
  for (const UnitId& unit : units_with_work(database, xid)) {
    states[unit] = state_of(jobs_of(database, unit));
  }
  return states;
}

void add_counts(Database& database, ExperimentView& view) {
  Statement select(database, "SELECT state, COUNT(*) FROM units WHERE xid = ? GROUP BY state");
  select.bind(1, view.xid);
  while (select.step()) {
    const auto state = enum_from_name<JobState>(select.view(0));
    if (state) view.counts[*state] += select.integer(1);
  }
  Statement recorded(database, "SELECT state FROM units WHERE xid = ? AND wid = ?");
  for (const auto& [unit, state] : states_now(database, view.xid)) {
    recorded.bind(1, unit.first).bind(2, unit.second);
    const bool found = recorded.step();
    const auto before = found ? enum_from_name<JobState>(recorded.view(0)) : std::nullopt;
    recorded.reset();
    if (!before || *before == state) continue;
    ++view.counts[state];
    if (--view.counts[*before] == 0) view.counts.erase(*before);
  }
}

void add_units(Database& database, ExperimentView& view, std::optional<std::int64_t> wid) {
  Statement select(database,
                   "SELECT u.wid, u.directory, u.sweep, u.state, u.changed, j.name, j.directory, "
                   "j.retries, j.state, j.attempt, failures, exit_code, signal, j.time, j.started, "
                   "j.host, detail FROM units u LEFT JOIN jobs j ON j.xid = u.xid AND "
                   "j.wid = u.wid WHERE u.xid = ?1 AND (?2 IS NULL OR u.wid = ?2) "
                   "ORDER BY u.wid, j.position");
  select.bind(1, view.xid);
  bind_number(select, 2, wid);
  while (select.step()) {
    const std::int64_t number = select.integer(0);
    if (view.units.empty() || view.units.back().wid != number) {
      view.units.push_back({number,
                            select.text(1),
                            value_from_json(select.view(2), "the index"),
                            enum_from_name<JobState>(select.view(3)).value_or(JobState::pending),
                            select.number(4),
                            {}});
    }
    if (!select.is_null(5)) view.units.back().jobs.push_back(job_of_row(select, 5));
  }
}

// The current states.
void look_at_jobs(UnitView& unit) {
  bool any = false;
  for (JobView& job : unit.jobs) {
    if (job.status.state != JobState::running) continue;
    job.status = status_now(job);
    unit.changed = std::max(unit.changed, job.status.time);
    any = true;
  }
  if (any) unit.state = state_of(unit.jobs);
}

RunStatus run_of_row(Statement& row, int first) {
  RunStatus run;
  run.problem = row.text(first);
  run.reported = row.text(first + 1);
  run.mode = row.text(first + 2);
  run.host = row.text(first + 3);
  run.boot_id = row.text(first + 4);
  run.message = row.text(first + 5);
  if (row.is_null(first + 6)) return run;  // no status.json was found
  run.step = row.integer(first + 6);
  run.target = row.integer(first + 7);
  run.attempt = row.integer(first + 8);
  run.pid = row.integer(first + 9);
  run.started = row.number(first + 10);
  run.time = row.number(first + 11);
  return run;
}

std::size_t unit_count(Database& database) {
  Statement count(database, "SELECT COUNT(*) FROM units");
  return count.step() ? static_cast<std::size_t>(count.integer(0)) : 0;
}

UnitRun unit_of_row(Statement& row) {
  UnitRun unit;
  unit.id = {row.integer(0), row.integer(1)};
  unit.directory = row.text(2);
  unit.sweep = row.text(7);
  unit.state = enum_from_name<JobState>(row.view(8)).value_or(JobState::pending);
  unit.changed = row.number(9);
  unit.run = run_of_row(row, 10);
  judge_state(unit.run);
  return unit;
}

// Returns nothing once `watch` finds a change.
std::optional<std::vector<UnitRun>> rows_of_units(Database& database,
                                                  std::optional<std::int64_t> xid,
                                                  std::optional<std::int64_t> wid,
                                                  BackgroundWatch* watch) {
  Statement select(database,
                   fmt::format("SELECT {}, sweep, state, changed, run_problem, reported, mode, "
                               "host, boot_id, message, step, target, attempt, pid, started, time "
                               "FROM units WHERE (?1 IS NULL OR xid = ?1) AND "
                               "(?2 IS NULL OR wid = ?2) ORDER BY xid, wid",
                               kUnitFilesColumns));
  bind_number(select, 1, xid);
  bind_number(select, 2, wid);
  std::vector<UnitRun> units;
  if (!xid) units.reserve(unit_count(database));
  while (select.step()) {
    if (watch != nullptr) {
      if (watch->has_seen_change()) return std::nullopt;
      watch->add(unit_files_of_row(select));
    }
    units.push_back(unit_of_row(select));
  }
  if (watch != nullptr && watch->has_any_changed()) return std::nullopt;
  if (wid) return units;
  const std::map<UnitId, JobState> states = states_now(database, xid);
  for (UnitRun& row : units) {
    const auto now = states.find(row.id);
    if (now != states.end()) row.state = now->second;
  }
  return units;
}

const char* column_of(WhichNumber which) {
  switch (which) {
    case WhichNumber::low:
      return "low";
    case WhichNumber::high:
      return "high";
    default:
      return "value";
  }
}

}  // namespace

std::vector<ExperimentView> experiment_rows(Database& database) {
  Statement select(database,
                   fmt::format("SELECT {} FROM experiments ORDER BY xid", kExperimentColumns));
  std::vector<ExperimentView> views;
  while (select.step()) views.push_back(view_of(select));
  for (ExperimentView& view : views) add_counts(database, view);
  return views;
}

std::optional<ExperimentView> experiment_row(Database& database, std::int64_t xid,
                                             std::optional<std::int64_t> wid) {
  Statement select(database,
                   fmt::format("SELECT {} FROM experiments WHERE xid = ?", kExperimentColumns));
  select.bind(1, xid);
  if (!select.step()) return std::nullopt;
  ExperimentView view = view_of(select);
  add_units(database, view, wid);
  for (UnitView& unit : view.units) look_at_jobs(unit);
  if (wid) {
    add_counts(database, view);
  } else {
    for (const UnitView& unit : view.units) ++view.counts[unit.state];
  }
  return view;
}

std::optional<std::vector<UnitRun>> current_unit_rows(
    Database& database, std::optional<std::int64_t> xid,
    const std::vector<ExperimentStore::Location>& locations) {
  BackgroundWatch watch(locations);
  return rows_of_units(database, xid, {}, &watch);
}

std::vector<UnitRun> unit_rows(Database& database, std::optional<std::int64_t> xid) {
  return *rows_of_units(database, xid, {}, nullptr);
}

std::vector<UnitAtWork> units_at_work(Database& database) {
  std::vector<UnitAtWork> units;
  for (const UnitId& id : units_with_work(database, {})) {
    std::vector<JobView> jobs = jobs_of(database, id);
    std::erase_if(jobs, [](const JobView& job) { return job.status.state != JobState::running; });
    std::vector<UnitRun> rows = *rows_of_units(database, id.first, id.second, nullptr);
    if (jobs.empty() || rows.empty()) continue;
    rows[0].run.path = rows[0].directory;
    units.push_back({std::move(rows[0]), all_indexed_numbers(database, id)[id], std::move(jobs)});
  }
  return units;
}

std::vector<std::string> indexed_number_names(Database& database, RecordKind kind,
                                              std::optional<std::int64_t> xid) {
  // Jumps from name to name instead of reading every number.
  Statement next(database,
                 "SELECT MIN(name) FROM numbers WHERE name > ? AND kind = ? AND part = 'value'");
  Statement has(database,
                "SELECT 1 FROM numbers WHERE name = ? AND kind = ? AND part = 'value' AND "
                "(?3 IS NULL OR xid = ?3) LIMIT 1");
  std::vector<std::string> names;
  std::string name;
  while (next.bind(1, name).bind(2, enum_name(kind)).step() && !next.is_null(0)) {
    name = next.text(0);
    next.reset();
    has.bind(1, name).bind(2, enum_name(kind));
    bind_number(has, 3, xid);
    if (has.step()) names.push_back(name);
    has.reset();
  }
  return names;
}

UnitNumbers indexed_numbers(Database& database, const std::string& name,
                            std::optional<RecordKind> kind, WhichNumber which) {
  Statement select(database, fmt::format("SELECT xid, wid, {0} FROM numbers WHERE kind = ? AND "
                                         "part IN ('value', 'rate') AND name = ? AND "
                                         "{0} IS NOT NULL",
                                         column_of(which)));
  UnitNumbers numbers;
  // Reads evaluations first, and values before rates: for each unit the first metric counts.
  for (const RecordKind each : {RecordKind::eval, RecordKind::train}) {
    if (kind && *kind != each) continue;
    select.bind(1, enum_name(each)).bind(2, name);
    while (select.step()) {
      numbers.push_back({{select.integer(0), select.integer(1)}, select.number(2)});
    }
    select.reset();
  }
  const auto by_unit = [](const auto& a, const auto& b) { return a.first < b.first; };
  const auto of_one = [](const auto& a, const auto& b) { return a.first == b.first; };
  if (!std::is_sorted(numbers.begin(), numbers.end(), by_unit)) {
    std::stable_sort(numbers.begin(), numbers.end(), by_unit);
  }
  numbers.erase(std::unique(numbers.begin(), numbers.end(), of_one), numbers.end());
  return numbers;
}

std::optional<double> number_of(const UnitNumbers& numbers, const UnitId& unit) {
  const auto found = std::lower_bound(
      numbers.begin(), numbers.end(), unit,
      [](const auto& entry, const UnitId& wanted) { return entry.first < wanted; });
  if (found == numbers.end() || found->first != unit) return std::nullopt;
  return found->second;
}

std::map<UnitId, RunNumbers> all_indexed_numbers(Database& database, std::optional<UnitId> unit) {
  Statement select(
      database,
      "SELECT n.xid, n.wid, kind, part, name, n.step, value, low, low_step, high, "
      "high_step, train_step, eval_step FROM numbers n JOIN units u ON "
      "u.xid = n.xid AND u.wid = n.wid WHERE ?1 IS NULL OR (n.xid = ?1 AND n.wid = ?2)");
  if (unit) select.bind(1, unit->first).bind(2, unit->second);
  std::map<UnitId, RunNumbers> all;
  while (select.step()) {
    RunNumbers& numbers = all[{select.integer(0), select.integer(1)}];
    const RecordKind kind =
        select.view(2) == enum_name(RecordKind::train) ? RecordKind::train : RecordKind::eval;
    const std::string name = select.text(4);
    // A metric that the last record lacks has only its earlier range.
    if (!select.is_null(5) &&
        select.integer(5) == select.integer(kind == RecordKind::train ? 11 : 12)) {
      auto& last = kind == RecordKind::train ? numbers.last.train : numbers.last.eval;
      if (!last) last = MetricsRecord{kind, select.integer(5), {}, {}};
      const double value =
          select.is_null(6) ? std::numeric_limits<double>::quiet_NaN() : select.number(6);
      (select.view(3) == "rate" ? last->rates : last->values).set(name, value);
    }
    if (!select.is_null(7)) {
      numbers.ranges.push_back(
          {name, select.number(7), select.number(9), select.integer(8), select.integer(10)});
    }
  }
  return all;
}

}  // namespace trivet
