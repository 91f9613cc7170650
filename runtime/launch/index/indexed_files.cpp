// SPDX-License-Identifier: Apache-2.0
#include "launch/index/indexed_files.h"

#include <set>

#include <fmt/core.h>

#include "launch/store/disk_records.h"
#include "trivet/config/enums.h"
#include "trivet/config/json.h"
#include "trivet/error.h"
#include "trivet/launch/job.h"

namespace trivet {
namespace {

namespace fs = std::filesystem;
using launch::JobState;
using launch::JobStatus;

constexpr std::uint64_t kMostFactsBytes = 1 << 20;

// A killed process leaves an incomplete line. The next process that appends ends the line, and it
// does not count.
bool is_cut_short(std::string_view line) {
  return line.starts_with('{') && !line.ends_with('}');
}

// The arguments of the unit's point in a sweep, for listings.
std::string sweep_text(const launch::WorkUnit& unit) {
  Value sweep = Value::table();
  const auto& members = unit.sweep.shown.empty() ? unit.sweep.args : unit.sweep.shown;
  for (const auto& [name, value] : members) sweep.set(name, value);
  return to_json(sweep);
}

void bind_status(Statement& row, int first, const JobStatus& status) {
  row.bind(first, enum_name(status.state)).bind(first + 1, status.attempt);
  row.bind(first + 2, status.failures);
  if (status.exit_code) {
    row.bind(first + 3, static_cast<std::int64_t>(*status.exit_code));
  } else {
    row.bind_null(first + 3);
  }
  row.bind(first + 4, static_cast<std::int64_t>(status.signal)).bind(first + 5, status.time);
  row.bind(first + 6, status.started).bind(first + 7, status.host).bind(first + 8, status.detail);
}

}  // namespace

JobStatus status_of_row(Statement& row, int first) {
  JobStatus status;
  status.state = enum_from_name<JobState>(row.view(first)).value_or(JobState::pending);
  status.attempt = row.integer(first + 1);
  status.failures = row.integer(first + 2);
  if (!row.is_null(first + 3)) status.exit_code = static_cast<int>(row.integer(first + 3));
  status.signal = static_cast<int>(row.integer(first + 4));
  status.time = row.number(first + 5);
  status.started = row.number(first + 6);
  status.host = row.text(first + 7);
  status.detail = row.text(first + 8);
  return status;
}

IndexedFiles::IndexedFiles(Database& database, const ExperimentStore::Location& location)
    : database_(database), location_(location) {
  Statement row(database,
                "SELECT directory, facts, facts_problem, lines_problem, bad_units, bad_events, "
                "facts_mark, units_mark, events_mark FROM experiments WHERE xid = ?");
  row.bind(1, location.xid);
  if (!row.step() || row.view(0) != location.directory.native()) return;
  is_known_ = true;
  facts_ = row.text(1);
  facts_problem_ = row.text(2);
  lines_problem_ = row.text(3);
  bad_units_ = row.integer(4);
  bad_events_ = row.integer(5);
  facts_mark_ = LineStamp::from_text(row.view(6)).file;
  units_mark_ = LineStamp::from_text(row.view(7));
  events_mark_ = LineStamp::from_text(row.view(8));
}

bool IndexedFiles::is_behind() const {
  return !is_known_ || stamp_of(location_.directory / "experiment.json") != facts_mark_ ||
         stamp_of(location_.directory / "units.jsonl") != units_mark_.file ||
         stamp_of(location_.directory / "events.jsonl") != events_mark_.file;
}

void IndexedFiles::forget(Database& database, std::int64_t xid) {
  for (const char* table : {"experiments", "units", "jobs", "numbers"}) {
    Statement(database, fmt::format("DELETE FROM {} WHERE xid = ?", table)).bind(1, xid).run();
  }
}

void IndexedFiles::take() {
  if (!is_known_) forget(database_, location_.xid);
  take_facts();
  take_lines();
  write_row();
}

void IndexedFiles::take_facts() {
  const fs::path file = location_.directory / "experiment.json";
  const FileStamp mark = stamp_of(file);
  if (is_known_ && mark == facts_mark_) return;
  facts_mark_ = mark.settled();
  facts_ = "{}";
  facts_problem_.clear();
  try {
    const Value facts = value_from_json(read_file_at_most(file, kMostFactsBytes), file.string());
    if (!facts.is_table()) throw RunError(file.string() + " contains no table");
    facts_ = to_json(facts);
  } catch (const RunError& unreadable) {
    facts_problem_ = unreadable.message();
  }
}

void IndexedFiles::take_lines() {
  AppendedLines units(location_.directory / "units.jsonl", units_mark_);
  AppendedLines events(location_.directory / "events.jsonl", events_mark_);
  if (units.starts_anew() || events.starts_anew()) {
    for (const char* table : {"units", "jobs", "numbers"}) {
      Statement remove(database_, fmt::format("DELETE FROM {} WHERE xid = ?", table));
      remove.bind(1, location_.xid).run();
    }
    bad_units_ = bad_events_ = 0;
    units.start_anew();
    events.start_anew();
  }
  lines_problem_.clear();
  // Reads events first: their units were recorded before them.
  Events changes;
  events_mark_ = read(events, [&](std::string_view line) { take_event(line, changes); });
  units_mark_ = read(units, [&](std::string_view line) { take_unit(line); });
  store(changes);
}

// If one file cannot be read, the data of the other is kept.
LineStamp IndexedFiles::read(AppendedLines& lines,
                             const std::function<void(std::string_view)>& take) {
  try {
    lines.read(take);
    return lines.mark();
  } catch (const DatabaseError&) {
    throw;
  } catch (const RunError& unreadable) {
    lines_problem_ += (lines_problem_.empty() ? "" : "; ") + unreadable.message();
    return lines.mark_as_unread();
  }
}

void IndexedFiles::take_unit(std::string_view line) {
  launch::WorkUnit unit;
  try {
    unit = launch::work_unit_from(value_from_json(line, "a unit"));
  } catch (const Error&) {
    bad_units_ += is_cut_short(line) ? 0 : 1;
    return;
  }
  Statement known(database_, "SELECT 1 FROM units WHERE xid = ? AND wid = ?");
  if (unit.wid < 1 || known.bind(1, location_.xid).bind(2, unit.wid).step()) {
    ++bad_units_;
    return;
  }
  Statement row(database_,
                "INSERT INTO units (xid, wid, directory, sweep, state, changed) "
                "VALUES (?, ?, ?, ?, 'pending', 0)");
  row.bind(1, location_.xid).bind(2, unit.wid).bind(3, unit.directory.native());
  row.bind(4, sweep_text(unit)).run();
  Statement job_row(database_,
                    "INSERT INTO jobs (xid, wid, position, name, directory, retries, state) "
                    "VALUES (?, ?, ?, ?, ?, ?, 'pending')");
  std::int64_t location = 0;
  for (const launch::Job& job : unit.jobs) {
    job_row.bind(1, location_.xid).bind(2, unit.wid).bind(3, ++location).bind(4, job.name);
    job_row.bind(5, job.directory.native()).bind(6, job.retries).run();
  }
}

void IndexedFiles::take_event(std::string_view line, Events& events) {
  try {
    launch::JobEvent event = job_event_from(value_from_json(line, "an event"));
    events[{event.wid, event.job}] = std::move(event.status);
  } catch (const RunError&) {
    bad_events_ += is_cut_short(line) ? 0 : 1;
  }
}

// Only the last event of a job counts.
void IndexedFiles::store(const Events& events) {
  Statement row(database_, fmt::format("UPDATE jobs SET ({}) = (?, ?, ?, ?, ?, ?, ?, ?, ?) "
                                       "WHERE xid = ? AND wid = ? AND name = ? RETURNING 1",
                                       kStatusColumns));
  for (const auto& [job, status] : events) {
    bind_status(row, 1, status);
    row.bind(10, location_.xid).bind(11, job.first).bind(12, job.second);
    if (!row.step()) ++bad_events_;
    row.reset();
  }
  store_states(events);
}

// The state of a unit follows from those of its jobs.
void IndexedFiles::store_states(const Events& events) {
  std::set<std::int64_t> wids;
  for (const auto& [job, status] : events) wids.insert(job.first);
  Statement jobs(database_,
                 fmt::format("SELECT {} FROM jobs WHERE xid = ? AND wid = ?", kStatusColumns));
  Statement unit(database_, "UPDATE units SET state = ?, changed = ? WHERE xid = ? AND wid = ?");
  for (const std::int64_t wid : wids) {
    std::vector<JobStatus> all;
    double changed = 0;
    jobs.bind(1, location_.xid).bind(2, wid);
    while (jobs.step()) {
      changed = std::max(changed, all.emplace_back(status_of_row(jobs, 0)).time);
    }
    jobs.reset();
    unit.bind(1, enum_name(unit_state(all))).bind(2, changed);
    unit.bind(3, location_.xid).bind(4, wid).run();
  }
}

void IndexedFiles::write_row() {
  Statement row(database_,
                "INSERT OR REPLACE INTO experiments (xid, directory, facts, facts_problem, "
                "lines_problem, bad_units, bad_events, facts_mark, units_mark, events_mark) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  row.bind(1, location_.xid).bind(2, location_.directory.native()).bind(3, facts_);
  row.bind(4, facts_problem_).bind(5, lines_problem_).bind(6, bad_units_).bind(7, bad_events_);
  row.bind(8, LineStamp{facts_mark_, 0, {}}.text()).bind(9, units_mark_.text());
  row.bind(10, events_mark_.text()).run();
}

}  // namespace trivet
