// SPDX-License-Identifier: Apache-2.0
// CSV text (RFC 4180), record by record: cells between delimiters, lines that end with LF or CRLF,
// cells in double quotes that may hold delimiters, line ends and quotes (doubled). Stricter than
// most readers: a quote inside a cell without quotes, text behind the closing quote and a lone CR
// are errors, because each of them is where readers disagree about what the cells are. Empty lines
// are skipped. Nothing is copied but cells with doubled quotes.
//
// Own code, because the two CSV libraries in Debian do not fit: libcsv reports neither line nor
// column of what is wrong and copies every cell, and fast-cpp-csv-parser wants the number of
// columns at compile time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace trivet::data {

struct CsvRecord {
  std::vector<std::string_view> cells;  // valid until the next record is read
  std::size_t offset = 0;               // of its first byte
  std::int64_t line = 0;                // where it starts, from 1
};

class CsvReader {
 public:
  // A record of more bytes is taken for a mistake (a quote that is never closed, a file of another
  // kind) and refused.
  static constexpr std::size_t kMostRecordBytes = std::size_t{16} << 20;

  struct Dialect {
    char delimiter = ',';
    bool trim = false;  // spaces and tabs around cells are dropped, those inside quotes stay
  };

  // `text` must outlive it. `file` is its name, for messages.
  CsvReader(std::string_view text, Dialect dialect, std::string file);

  // Goes on with the record that starts at this location.
  void seek(std::size_t offset, std::int64_t line);
  void skip_line();  // whatever it holds

  // False at the end. Throws InputError with file and line.
  bool next(CsvRecord& record);

 private:
  struct Piece {
    bool copied;  // in copies_, else in text_
    std::size_t offset, size;
  };
  [[noreturn]] void fail(std::int64_t line, const std::string& what, std::string hint = {}) const;
  [[noreturn]] void fail_too_long() const;
  bool is_space(char c) const;
  void skip_spaces();
  Piece read_plain();
  Piece read_quoted();
  bool at_line_end();
  bool end_cell();  // moves past a delimiter (true) or a line end

  std::string_view text_;
  Dialect dialect_;
  std::string file_;
  std::size_t at_ = 0;
  std::int64_t line_ = 1;
  std::size_t stop_ = 0;  // the end of the text, or of what a record may reach
  std::int64_t record_line_ = 1;
  std::vector<Piece> pieces_;
  std::string copies_;  // cells with doubled quotes, of the record
};

}  // namespace trivet::data
