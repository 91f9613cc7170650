// SPDX-License-Identifier: Apache-2.0
// CSV text (RFC 4180), record by record: cells between delimiters, lines that end with LF or CRLF,
// cells in double quotes that may hold delimiters, line ends and quotes (doubled). Stricter than
// most readers: a quote inside a cell without quotes, text after the closing quote and a lone CR
// are errors, because readers disagree about what such cells contain. The reader skips empty lines.
// It copies only cells with doubled quotes.
//
// The two CSV libraries in Debian do not fit: libcsv does not report the line and column of an
// error and copies every cell, and fast-cpp-csv-parser wants the number of columns at compile time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace trivet::data {

struct CsvRecord {
  std::vector<std::string_view> cells;  // valid until the next record is read
  std::size_t offset = 0;               // of the record's first byte
  std::int64_t line = 0;                // where the record starts, from 1
};

class CsvReader {
 public:
  // A longer record is an error: it usually means an unclosed quote or a file of another kind.
  static constexpr std::size_t kMostRecordBytes = std::size_t{16} << 20;

  struct Dialect {
    char delimiter = ',';
    bool trim = false;  // drops spaces and tabs around cells, but not those inside quotes
  };

  // `text` must outlive the reader. Messages use `file` as the name.
  CsvReader(std::string_view text, Dialect dialect, std::string file);

  // Continues with the record that starts at this offset.
  void seek(std::size_t offset, std::int64_t line);
  void skip_line();  // skips the line without parsing it

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
  std::size_t stop_ = 0;  // the end of the text, or the limit of the current record
  std::int64_t record_line_ = 1;
  std::vector<Piece> pieces_;
  std::string copies_;  // cells with doubled quotes, of the record
};

}  // namespace trivet::data
