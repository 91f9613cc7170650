// SPDX-License-Identifier: Apache-2.0
#include "launch/index/index_tables.h"

#include <string>

namespace trivet {
namespace {

// Increase this with every change of a table or of its contents.
constexpr std::int64_t kIndexVersion = 4;

constexpr const char* kDrop = R"(
DROP TABLE IF EXISTS experiments;
DROP TABLE IF EXISTS units;
DROP TABLE IF EXISTS jobs;
DROP TABLE IF EXISTS numbers;
)";

constexpr const char* kTables = R"(
CREATE TABLE experiments (
  xid INTEGER PRIMARY KEY, directory TEXT NOT NULL,
  facts TEXT,             -- experiment.json
  facts_problem TEXT, lines_problem TEXT,  -- why files could not be read
  bad_units INTEGER, bad_events INTEGER,   -- lines that are not records
  facts_mark TEXT, units_mark TEXT, events_mark TEXT);

-- A work unit, with the data of status.json and metrics.jsonl if its directory contains a run.
CREATE TABLE units (
  xid INTEGER, wid INTEGER, directory TEXT NOT NULL,
  sweep TEXT,             -- JSON
  state TEXT, changed REAL,
  run_problem TEXT,
  reported TEXT, mode TEXT, host TEXT, boot_id TEXT, message TEXT,
  step INTEGER, target INTEGER, attempt INTEGER, pid INTEGER, started REAL, time REAL,
  train_step INTEGER, eval_step INTEGER,   -- of the last record of each kind
  status_mark TEXT, metrics_mark TEXT, eval_mark TEXT,
  PRIMARY KEY (xid, wid)) WITHOUT ROWID;

CREATE TABLE jobs (
  xid INTEGER, wid INTEGER, position INTEGER, name TEXT NOT NULL, directory TEXT, retries INTEGER,
  state TEXT, attempt INTEGER, failures INTEGER, exit_code INTEGER, signal INTEGER,
  time REAL, started REAL, host TEXT, detail TEXT,
  PRIMARY KEY (xid, wid, position)) WITHOUT ROWID;
CREATE INDEX jobs_at_work ON jobs (xid, wid) WHERE state = 'running';

-- Metrics of runs: the value in the record of `step` (null: not finite), and the lowest and highest
-- value of evaluations.
CREATE TABLE numbers (
  name TEXT, kind TEXT, part TEXT, xid INTEGER, wid INTEGER,
  step INTEGER, value REAL, low REAL, low_step INTEGER, high REAL, high_step INTEGER,
  PRIMARY KEY (kind, part, name, xid, wid)) WITHOUT ROWID;
CREATE INDEX numbers_of_unit ON numbers (xid, wid);
)";

}  // namespace

bool has_index_tables(Database& database) {
  Statement version(database, "PRAGMA user_version");
  return version.step() && version.integer(0) == kIndexVersion;
}

void make_index_tables(Database& database) {
  database.execute(kDrop);
  database.execute(kTables);
  database.execute(("PRAGMA user_version = " + std::to_string(kIndexVersion)).c_str());
}

}  // namespace trivet
