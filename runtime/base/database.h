// SPDX-License-Identifier: Apache-2.0
//
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
  // Whether the file cannot be used now, by us: locked, not ours to write, a full disk. Otherwise
  // what it holds is at fault.
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
// Its database, which outlives it, keeps the prepared form for the next one of the same text. Every
// function throws DatabaseError with SQLite's reason.
class Statement {
 public:
  Statement(Database& database, std::string_view sql);
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  ~Statement();

  // Parameters are counted from 1. A text is copied; NaN is null.
  Statement& bind(int parameter, std::int64_t value);
  Statement& bind(int parameter, double value);
  Statement& bind(int parameter, std::string_view value);
  Statement& bind_null(int parameter);

  bool step();   // to the next row; false behind the last
  void run();    // to its end; then it can be bound anew
  void reset();  // the same for one that was not stepped to its end

  int columns();
  // Columns are counted from 0. Null reads as 0 and as no text.
  std::int64_t integer(int column);
  double number(int column);
  std::string text(int column);
  std::string_view view(int column);  // until the next step
  bool is_null(int column);

 private:
  void check(int code);
  Database& database_;
  sqlite3_stmt* statement_;
};

class Database {
 public:
  // In memory, of this object alone.
  Database();
  // A file, which other processes may use, too: each waits for the other a second at most. It is
  // made, for its owner only, where it is not there.
  enum class Access { read, write };
  explicit Database(const std::filesystem::path& file, Access access = Access::write);
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database();

  void execute(const char* sql);
  // Takes over everything that another one holds, instead of what is here.
  void copy_from(Database& other);

 private:
  friend class Statement;
  sqlite3_stmt* take_statement(std::string_view sql);

  sqlite3* database_ = nullptr;
  std::unordered_map<std::string, std::vector<sqlite3_stmt*>> idle_;
};

// From here to commit(), or nothing of it. Other processes read what was there before.
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
