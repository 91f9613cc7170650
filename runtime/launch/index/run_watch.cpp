// SPDX-License-Identifier: Apache-2.0
#include "launch/index/run_watch.h"

#include <algorithm>
#include <cmath>

#include "rundir/run_status.h"
#include "trivet/config/enums.h"
#include "trivet/error.h"

namespace trivet {
namespace {

struct RunRow {
  std::string problem;
  FileStamp status_mark;
  LineStamp metrics_mark, eval_mark;
};

void write_status(Database& database, const UnitFiles& unit, const RunStatus& info) {
  Statement row(database,
                "UPDATE units SET reported = ?, mode = ?, host = ?, boot_id = ?, message = ?, "
                "step = ?, target = ?, attempt = ?, pid = ?, started = ?, time = ? "
                "WHERE xid = ? AND wid = ?");
  row.bind(1, info.reported).bind(2, info.mode).bind(3, info.host).bind(4, info.boot_id);
  row.bind(5, info.message).bind(6, info.step).bind(7, info.target).bind(8, info.attempt);
  row.bind(9, info.pid).bind(10, info.started).bind(11, info.time);
  row.bind(12, unit.xid).bind(13, unit.wid).run();
}

void take_status(Database& database, const UnitFiles& unit, RunRow& row) {
  row.status_mark = stamp_of(unit.status()).settled();
  RunStatus info;
  try {
    // No file exists if the unit's job is another program, or has not started.
    if (row.status_mark.is_there()) read_status(unit.status(), info);
  } catch (const RunError& unreadable) {
    row.problem = unreadable.message();
  }
  write_status(database, unit, info);
}

std::vector<NumberRange> known_ranges(Database& database, const UnitFiles& unit) {
  Statement select(database,
                   "SELECT name, low, high, low_step, high_step FROM numbers "
                   "WHERE xid = ? AND wid = ? AND kind = 'eval' AND low IS NOT NULL");
  select.bind(1, unit.xid).bind(2, unit.wid);
  std::vector<NumberRange> ranges;
  while (select.step()) {
    ranges.push_back(
        {select.text(0), select.number(1), select.number(2), select.integer(3), select.integer(4)});
  }
  return ranges;
}

// Clears the values of older records: the last one may lack some of them.
void forget_record(Database& database, const UnitFiles& unit, RecordKind kind) {
  for (const char* sql :
       {"DELETE FROM numbers WHERE xid = ? AND wid = ? AND kind = ? AND low IS NULL",
        "UPDATE numbers SET step = NULL, value = NULL WHERE xid = ? AND wid = ? AND kind = ?"}) {
    Statement(database, sql).bind(1, unit.xid).bind(2, unit.wid).bind(3, enum_name(kind)).run();
  }
}

void write_record(Database& database, const UnitFiles& unit, const MetricsRecord& record) {
  forget_record(database, unit, record.kind);
  Statement row(database,
                "INSERT INTO numbers (name, kind, part, xid, wid, step, value) "
                "VALUES (?, ?, ?, ?, ?, ?, ?) "
                "ON CONFLICT DO UPDATE SET step = excluded.step, value = excluded.value");
  const auto write = [&](const Logs& logs, std::string_view part) {
    for (const auto& [name, value] : logs) {
      row.bind(1, name).bind(2, enum_name(record.kind)).bind(3, part);
      row.bind(4, unit.xid).bind(5, unit.wid).bind(6, record.step);
      (std::isfinite(value) ? row.bind(7, value) : row.bind_null(7)).run();
    }
  };
  write(record.values, "value");
  write(record.rates, "rate");
  const bool is_train = record.kind == RecordKind::train;
  Statement last(database, is_train ? "UPDATE units SET train_step = ? WHERE xid = ? AND wid = ?"
                                    : "UPDATE units SET eval_step = ? WHERE xid = ? AND wid = ?");
  last.bind(1, record.step).bind(2, unit.xid).bind(3, unit.wid).run();
}

void write_ranges(Database& database, const UnitFiles& unit,
                  const std::vector<NumberRange>& ranges) {
  Statement row(database,
                "INSERT INTO numbers (name, kind, part, xid, wid, low, low_step, high, high_step) "
                "VALUES (?, 'eval', 'value', ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
                "low = excluded.low, low_step = excluded.low_step, high = excluded.high, "
                "high_step = excluded.high_step");
  for (const NumberRange& range : ranges) {
    row.bind(1, range.name).bind(2, unit.xid).bind(3, unit.wid).bind(4, range.low);
    row.bind(5, range.low_step).bind(6, range.high).bind(7, range.high_step).run();
  }
}

void forget_numbers(Database& database, const UnitFiles& unit) {
  for (const char* sql :
       {"DELETE FROM numbers WHERE xid = ? AND wid = ?",
        "UPDATE units SET train_step = NULL, eval_step = NULL WHERE xid = ? AND wid = ?"}) {
    Statement(database, sql).bind(1, unit.xid).bind(2, unit.wid).run();
  }
}

// Reads new records. Returns false if the file cannot be read.
bool take_lines(AppendedLines& lines, MetricsTally& tally, LineStamp& mark, std::string& problem) {
  try {
    lines.read([&](std::string_view line) { tally.take(line); });
    mark = lines.mark();
    return true;
  } catch (const RunError& unreadable) {
    problem = unreadable.message();
    mark = lines.mark_as_unread();
    return false;
  }
}

void take_metrics(Database& database, const UnitFiles& unit, RunRow& row) {
  AppendedLines lines(unit.metrics(), unit.metrics_mark);
  AppendedLines eval_lines(unit.eval_metrics(), unit.eval_mark);
  if (lines.starts_anew() || eval_lines.starts_anew()) {
    forget_numbers(database, unit);
    lines.start_anew();
    eval_lines.start_anew();
  }
  MetricsTally tally(known_ranges(database, unit));
  const bool is_read = take_lines(lines, tally, row.metrics_mark, row.problem);
  const bool is_eval_read = take_lines(eval_lines, tally, row.eval_mark, row.problem);
  if (!is_read && !is_eval_read) return;
  const LastRecords last = tally.last();
  if (last.train) write_record(database, unit, *last.train);
  if (last.eval) {
    write_record(database, unit, *last.eval);
    write_ranges(database, unit, tally.ranges());
  }
}

}  // namespace

bool UnitFiles::have_changed(const StampsBelow& experiment) const {
  if (experiment.of(status()) != status_mark) return true;
  // Another job may still evaluate the checkpoints of an ended run.
  if (experiment.of(eval_metrics()) != eval_mark.file) return true;
  return !is_over && experiment.of(metrics()) != metrics_mark.file;
}

UnitFiles unit_files_of_row(Statement& row) {
  return {row.integer(0),
          row.integer(1),
          row.text(2),
          LineStamp::from_text(row.view(3)).file,
          LineStamp::from_text(row.view(4)),
          LineStamp::from_text(row.view(6)),
          row.integer(5) != 0};
}

bool RunWatch::has_changed(const UnitFiles& unit) {
  if (!experiment_ || unit.xid != xid_) {
    const auto found = std::find_if(
        locations_.begin(), locations_.end(),
        [&](const ExperimentStore::Location& location) { return location.xid == unit.xid; });
    xid_ = unit.xid;
    experiment_.emplace(found == locations_.end() ? std::string() : found->directory.string());
  }
  return unit.have_changed(*experiment_);
}

void take_run(Database& database, const UnitFiles& unit) {
  RunRow run;
  take_status(database, unit, run);
  take_metrics(database, unit, run);
  Statement row(
      database,
      "UPDATE units SET run_problem = ?, status_mark = ?, metrics_mark = ?, eval_mark = ? "
      "WHERE xid = ? AND wid = ?");
  row.bind(1, run.problem).bind(2, LineStamp{run.status_mark, 0, {}}.text());
  row.bind(3, run.metrics_mark.text()).bind(4, run.eval_mark.text());
  row.bind(5, unit.xid).bind(6, unit.wid).run();
}

}  // namespace trivet
