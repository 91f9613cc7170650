// SPDX-License-Identifier: Apache-2.0
#include "launch/index/experiment_index.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <set>
#include <system_error>

#include <fmt/core.h>

#include "launch/control/supervisor_process.h"
#include "launch/index/index_tables.h"
#include "trivet/error.h"

namespace trivet {
namespace {

namespace fs = std::filesystem;

// Null if it cannot be created, for example in a read-only directory.
UniqueFd open_lock(const fs::path& file) {
  UniqueFd lock(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (lock) ::flock(lock.get(), LOCK_SH);
  return lock;
}

bool is_supervised(const fs::path& experiment) {
  try {
    return has_supervisor_at_work(experiment);
  } catch (const RunError&) {
    return false;  // not readable by this user
  }
}

// Check the supervisor before the files: if it ends in between, the files of an experiment without
// a supervisor are final.
std::set<std::int64_t> supervised_of(const std::vector<ExperimentStore::Location>& locations) {
  std::set<std::int64_t> xids;
  for (const ExperimentStore::Location& location : locations) {
    if (is_supervised(location.directory)) xids.insert(location.xid);
  }
  return xids;
}

std::unique_ptr<Database> tables_in_memory() {
  auto database = std::make_unique<Database>();
  make_index_tables(*database);
  return database;
}

std::unique_ptr<Database> copy_of(const fs::path& file) {
  auto database = std::make_unique<Database>();
  Database disk(file, Database::Access::read);
  database->copy_from(disk);
  if (!has_index_tables(*database)) return tables_in_memory();
  return database;
}

}  // namespace

ExperimentIndex::ExperimentIndex(fs::path root) : root_(std::move(root)) {
  std::error_code ignored;
  const bool has_place = !root_.empty() && fs::is_directory(file("experiments"), ignored);
  if (!has_place) use_memory(StartWith::nothing);
}

ExperimentIndex::ExperimentIndex(const ExperimentId& id) : ExperimentIndex(id.root) {
  if (id.root.empty()) only_ = ExperimentStore::Location{id.xid, id.directory};
}

ExperimentIndex::~ExperimentIndex() = default;

fs::path ExperimentIndex::file(const char* name) const {
  return root_ / ".trivet" / name;
}

std::vector<ExperimentStore::Location> ExperimentIndex::locations(
    std::optional<std::int64_t> xid) const {
  if (only_) return {*only_};
  const ExperimentStore store(root_);
  if (!xid) return store.all();
  const std::optional<fs::path> directory = store.find(*xid);
  return directory ? std::vector<ExperimentStore::Location>{{*xid, *directory}}
                   : std::vector<ExperimentStore::Location>();
}

void ExperimentIndex::open() {
  lock_ = UniqueFd();  // closed first: it may hold the lock
  lock_ = open_lock(file("index.lock"));
  database_ = std::make_unique<Database>(file("index.sqlite"));
  // A power failure must not leave rows that look right but are wrong.
  database_->execute("PRAGMA synchronous = NORMAL");
  if (has_index_tables(*database_)) return;
  Transaction whole(*database_);
  if (!has_index_tables(*database_)) make_index_tables(*database_);
  whole.commit();
}

void ExperimentIndex::step_down(const DatabaseError& failure) {
  if (in_memory_) throw failure;
  why_in_memory_ = failure.message();
  database_.reset();
  lost_ = true;
  if (!failure.is_out_of_reach() && !replaced_ && remove_damaged()) return;
  use_memory(failure.is_out_of_reach() ? StartWith::file : StartWith::nothing);
}

// Only if no other process has the file open, because its journal would be applied to the new file.
bool ExperimentIndex::remove_damaged() {
  replaced_ = true;
  if (!lock_ || ::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) return false;
  for (const char* name : {"index.sqlite-journal", "index.sqlite"}) {
    if (::unlink(file(name).c_str()) != 0 && errno != ENOENT) return false;
  }
  return true;
}

void ExperimentIndex::use_memory(StartWith start) {
  in_memory_ = true;
  lock_ = UniqueFd();
  try {
    database_ = start == StartWith::file ? copy_of(file("index.sqlite")) : tables_in_memory();
  } catch (const DatabaseError&) {
    database_ = tables_in_memory();
  }
}

// Runs the action with the file; if the file is damaged, with a new one; else with a database in
// memory.
template <class Action>
auto ExperimentIndex::guarded(const Action& action) {
  while (true) {
    try {
      if (database_ == nullptr) open();
      // Not every action updates the index.
      if (lost_) sync({.xid = {}, .runs = true});
      lost_ = false;
      return action();
    } catch (const DatabaseError& failure) {
      step_down(failure);
    }
  }
}

void ExperimentIndex::sync(const IndexUpdate::Scope& scope) {
  const std::vector<ExperimentStore::Location> where = locations(scope.xid);
  IndexUpdate intake(*database_, where);
  if (!intake.is_behind(scope)) return;
  Transaction whole(*database_);
  intake.take(scope);
  whole.commit();
}

void ExperimentIndex::rebuild() {
  guarded([&] {
    if (in_memory_ && !why_in_memory_.empty()) return;
    Transaction whole(*database_);
    make_index_tables(*database_);
    const std::vector<ExperimentStore::Location> where = locations({});
    IndexUpdate(*database_, where).take({.xid = {}, .runs = true});
    whole.commit();
  });
  if (!why_in_memory_.empty() && in_memory_) {
    throw RunError("the index cannot be written: " + why_in_memory_,
                   {.hint = "the other commands work without it, but slower"});
  }
}

std::vector<ExperimentView> ExperimentIndex::experiments() {
  return guarded([&] {
    const std::set<std::int64_t> supervised = supervised_of(locations({}));
    sync({});
    std::vector<ExperimentView> views = experiment_rows(*database_);
    for (ExperimentView& view : views) view.supervised = supervised.contains(view.xid);
    return views;
  });
}

ExperimentView ExperimentIndex::experiment(std::int64_t xid, std::optional<std::int64_t> wid) {
  std::optional<ExperimentView> view = guarded([&] {
    const bool supervised = !supervised_of(locations(xid)).empty();
    sync({.xid = xid});
    std::optional<ExperimentView> row = experiment_row(*database_, xid, wid);
    if (row) row->supervised = supervised;
    return row;
  });
  if (!view) throw UsageError(fmt::format("experiment {} no longer exists", xid));
  if (wid) unit_of(*view, *wid);
  return std::move(*view);
}

std::vector<UnitRun> ExperimentIndex::units(std::optional<std::int64_t> xid) {
  return guarded([&] {
    // Usually nothing changed, and one check of all units is enough.
    sync({.xid = xid});
    if (auto rows = current_unit_rows(*database_, xid, locations(xid))) return std::move(*rows);
    sync({.xid = xid, .runs = true});
    return unit_rows(*database_, xid);
  });
}

std::vector<std::string> ExperimentIndex::number_names(RecordKind kind,
                                                       std::optional<std::int64_t> xid) {
  return guarded([&] { return indexed_number_names(*database_, kind, xid); });
}

UnitNumbers ExperimentIndex::numbers(const std::string& name, std::optional<RecordKind> kind,
                                     WhichNumber which) {
  return guarded([&] { return indexed_numbers(*database_, name, kind, which); });
}

std::map<UnitId, RunNumbers> ExperimentIndex::all_numbers(std::optional<UnitId> unit) {
  return guarded([&] { return all_indexed_numbers(*database_, unit); });
}

std::vector<UnitAtWork> ExperimentIndex::at_work() {
  return guarded([&] {
    sync({.xid = {}, .runs = true});
    return units_at_work(*database_);
  });
}

}  // namespace trivet
