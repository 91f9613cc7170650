// SPDX-License-Identifier: Apache-2.0
// A CSV file as a table: named columns and the rows that a config selects.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/formats/csv_reader.h"
#include "data/formats/memory.h"
#include "data/images/image_config.h"
#include "trivet/extensions/table.h"
#include "trivet/tensor/random.h"

namespace trivet::data {

class CsvTable {
 public:
  // Reads the file into memory, checks all of it (text, quotes, the number of cells in every row)
  // and selects rows. Throws InputError with file and line.
  explicit CsvTable(const CsvConfig& config);

  // Rows of a longer text, without its header. Checks them likewise.
  struct Rows {
    std::vector<std::string> columns;
    std::string text;
    std::string name;  // of the text, for messages
    std::int64_t first_line = 1;
    std::int64_t rows_before = 0;
  };
  CsvTable(const CsvConfig& config, Rows rows);

  // The names of the columns, of which `first` is the header, or the first row if the config has no
  // header. Throws InputError for a wrong number of config.column_names and for equal names.
  static std::vector<std::string> columns_of(const CsvConfig& config, std::string_view first,
                                             std::int64_t line, const std::string& file);

  const std::string& file() const { return file_; }
  const std::vector<std::string>& columns() const { return columns_; }
  std::int64_t rows() const { return static_cast<std::int64_t>(rows_.size()); }
  // Visits rows in the order of the file.
  void scan(const std::function<void(const TableRow&)>& visit) const;

 private:
  struct Row {
    std::size_t offset;
    std::int64_t line, number;
  };
  CsvReader reader() const;
  void check_text(std::int64_t first_line);
  void read_header(CsvReader& reader);
  void find_rows(CsvReader& reader, std::int64_t number);
  void check_width(const CsvRecord& record, std::int64_t number) const;
  void mark_cells(const CsvRecord& record, std::vector<TableCell>& cells) const;
  bool wants(const std::vector<TableCell>& cells) const;
  bool is_for_evaluation(const std::vector<TableCell>& cells) const;

  CsvConfig config_;
  std::string file_;
  Memory memory_;
  std::unique_ptr<const std::string> rows_text_;  // of Rows, in place of memory_
  std::string_view text_;                         // without a byte order mark
  std::vector<std::string> columns_;
  std::vector<std::size_t> needed_;  // the columns of drop_missing
  std::optional<std::size_t> split_by_;
  RngKey split_key_;
  std::vector<Row> rows_;
};

}  // namespace trivet::data
