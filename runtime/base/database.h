// SPDX-License-Identifier: Apache-2.0
// An SQLite database with its statements.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trivet/error.h"

struct sqlite3;
struct sqlite3_stmt;

namespace trivet {

class Database;

class DatabaseError : public RunError {
 public:
  DatabaseError(const std::string& what, int code) : RunError(what), code_(code) {}
  // Whether this process cannot use the file now: locked, read-only, or a full disk. Otherwise the
  // contents are at fault.
  bool is_out_of_reach() const;

 private:
  int code_;  // SQLite's
};

// A prepared statement:
//
//   Statement insert(database, "INSERT INTO t VALUES (?, ?)");
//   insert.bind(1, 5).bind(2, "x").run();
//   Statement select(database, "SELECT a, b FROM t");
//   while (select.step()) use(select.integer(0), select.text(1));
//
// The database must outlive the statement and caches the prepared form for the next statement with
// the same text. Every function throws DatabaseError with SQLite's reason.
class Statement {
 public:
  Statement(Database& database, std::string_view sql);
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  ~Statement();

  // Parameter indices start at 1. Strings are copied. NaN becomes null.
  Statement& bind(int parameter, std::int64_t value);
  Statement& bind(int parameter, double value);
  Statement& bind(int parameter, std::string_view value);
  Statement& bind_null(int parameter);

  bool step();   // to the next row; false after the last
  void run();    // to the end; then it can be bound again
  void reset();  // the same, before the end was reached

  int columns();
  // Column indices start at 0. Null reads as 0 or an empty string.
  std::int64_t integer(int column);
  double number(int column);
  std::string text(int column);
  std::string_view view(int column);  // valid until the next step
  bool is_null(int column);

 private:
  void check(int code);
  Database& database_;
  sqlite3_stmt* statement_;
};

class Database {
 public:
  // A database in memory, private to this object.
  Database();
  // A file that other processes may use, too: each waits at most a second for the other. Creates
  // the file, readable for its owner only, if it does not exist.
  enum class Access { read, write };
  explicit Database(const std::filesystem::path& file, Access access = Access::write);
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database();

  void execute(const char* sql);
  // Replaces the contents with those of another database.
  void copy_from(Database& other);

 private:
  friend class Statement;
  sqlite3_stmt* take_statement(std::string_view sql);

  sqlite3* database_ = nullptr;
  std::unordered_map<std::string, std::vector<sqlite3_stmt*>> idle_;
};

// Changes until commit() are atomic. Until then, other processes read the old contents.
class Transaction {
 public:
  explicit Transaction(Database& database);
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction();
  void commit();

 private:
  Database& database_;
  bool done_ = false;
};

}  // namespace trivet
