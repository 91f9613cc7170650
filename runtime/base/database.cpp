// SPDX-License-Identifier: Apache-2.0
#include "base/database.h"

#include <fcntl.h>
#include <sqlite3.h>

#include "trivet/os/file.h"

namespace trivet {
namespace {

constexpr int kBusyMilliseconds = 1000;

[[noreturn]] void fail(sqlite3* database) {
  const char* name = sqlite3_db_filename(database, "main");
  const bool has_name = name != nullptr && *name != '\0';
  throw DatabaseError(std::string(has_name ? name : "the index") + ": " + sqlite3_errmsg(database),
                      sqlite3_errcode(database));
}

sqlite3* open_database(const char* file, int flags) {
  sqlite3* database = nullptr;
  const int code = sqlite3_open_v2(file, &database, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  if (code == SQLITE_OK) return database;
  const std::string why = database != nullptr ? sqlite3_errmsg(database) : "out of memory";
  sqlite3_close(database);
  throw DatabaseError(std::string(file) + ": " + why, code);
}

}  // namespace

bool DatabaseError::is_out_of_reach() const {
  switch (code_ & 0xff) {
    case SQLITE_PERM:
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_NOMEM:
    case SQLITE_READONLY:
    case SQLITE_IOERR:
    case SQLITE_FULL:
    case SQLITE_CANTOPEN:
    case SQLITE_PROTOCOL:
    case SQLITE_NOLFS:
    case SQLITE_AUTH:
      return true;
    default:
      return false;
  }
}

Statement::Statement(Database& database, std::string_view sql)
    : database_(database), statement_(database.take_statement(sql)) {}

Statement::~Statement() {
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
  database_.idle_[sqlite3_sql(statement_)].push_back(statement_);
}

void Statement::check(int code) {
  if (code != SQLITE_OK && code != SQLITE_ROW && code != SQLITE_DONE) {
    fail(database_.database_);
  }
}

Statement& Statement::bind(int parameter, std::int64_t value) {
  check(sqlite3_bind_int64(statement_, parameter, value));
  return *this;
}
Statement& Statement::bind(int parameter, double value) {
  check(sqlite3_bind_double(statement_, parameter, value));
  return *this;
}
Statement& Statement::bind(int parameter, std::string_view value) {
  const char* text = value.data() != nullptr ? value.data() : "";
  check(sqlite3_bind_text64(statement_, parameter, text, value.size(), SQLITE_TRANSIENT,
                            SQLITE_UTF8));
  return *this;
}
Statement& Statement::bind_null(int parameter) {
  check(sqlite3_bind_null(statement_, parameter));
  return *this;
}

bool Statement::step() {
  const int code = sqlite3_step(statement_);
  check(code);
  return code == SQLITE_ROW;
}

void Statement::run() {
  while (step()) {
  }
  reset();
}

void Statement::reset() {
  check(sqlite3_reset(statement_));
}

int Statement::columns() {
  return sqlite3_column_count(statement_);
}
std::int64_t Statement::integer(int column) {
  return sqlite3_column_int64(statement_, column);
}
double Statement::number(int column) {
  return sqlite3_column_double(statement_, column);
}
std::string_view Statement::view(int column) {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  if (bytes == nullptr) return {};
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}
std::string Statement::text(int column) {
  return std::string(view(column));
}
bool Statement::is_null(int column) {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

Database::Database()
    : database_(open_database(":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY)) {}

Database::Database(const std::filesystem::path& file, Access access) {
  if (access == Access::write) {
    // SQLite itself would let everybody read it; it takes an empty file for a fresh database.
    const UniqueFd made(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  }
  database_ = open_database(file.c_str(),
                            access == Access::write ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY);
  sqlite3_busy_timeout(database_, kBusyMilliseconds);
}

Database::~Database() {
  for (const auto& [sql, statements] : idle_) {
    for (sqlite3_stmt* statement : statements) sqlite3_finalize(statement);
  }
  sqlite3_close(database_);
}

sqlite3_stmt* Database::take_statement(std::string_view sql) {
  const auto found = idle_.find(std::string(sql));
  if (found != idle_.end() && !found->second.empty()) {
    sqlite3_stmt* statement = found->second.back();
    found->second.pop_back();
    return statement;
  }
  sqlite3_stmt* statement = nullptr;
  const int size = static_cast<int>(sql.size());
  if (sqlite3_prepare_v2(database_, sql.data(), size, &statement, nullptr) != SQLITE_OK) {
    fail(database_);
  }
  return statement;
}

void Database::execute(const char* sql) {
  if (sqlite3_exec(database_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) fail(database_);
}

void Database::copy_from(Database& other) {
  sqlite3_backup* backup = sqlite3_backup_init(database_, "main", other.database_, "main");
  if (backup == nullptr) fail(database_);
  sqlite3_backup_step(backup, -1);
  const int code = sqlite3_backup_finish(backup);
  if (code != SQLITE_OK) {
    throw DatabaseError(std::string("the index cannot be copied: ") + sqlite3_errstr(code), code);
  }
}

Transaction::Transaction(Database& database) : database_(database) {
  database_.execute("BEGIN IMMEDIATE");
}

Transaction::~Transaction() {
  if (done_) return;
  try {
    database_.execute("ROLLBACK");
  } catch (const DatabaseError&) {
    // SQLite has already rolled back.
  }
}

void Transaction::commit() {
  database_.execute("COMMIT");
  done_ = true;
}

}  // namespace trivet
