// SPDX-License-Identifier: Apache-2.0
#include "data/tables/csv_table.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>

#include "data/formats/input_bytes.h"
#include "trivet/error.h"
#include "trivet/text/strings.h"
#include "trivet/text/utf8.h"

namespace trivet::data {
namespace {

constexpr std::string_view kUtf8Mark = "\xEF\xBB\xBF";

std::string unnamed(std::size_t index) {
  return "column_" + std::to_string(index + 1);
}

CsvReader::Dialect dialect_of(const CsvConfig& config) {
  return {.delimiter = config.delimiter[0], .trim = config.trim};
}

void check_names(const std::vector<std::string>& columns, const std::string& file,
                 std::int64_t line) {
  std::map<std::string_view, std::size_t> seen;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const auto [other, is_new] = seen.emplace(columns[i], i);
    if (is_new) continue;
    throw InputError("columns " + std::to_string(other->second + 1) + " and " +
                         std::to_string(i + 1) + " are both named " + shown_cell(columns[i]),
                     {.where = {.file = file, .line = static_cast<int>(line)},
                      .hint = "rename one of them, or set column_names"});
  }
}

std::vector<std::string> names_in(const CsvConfig& config, const CsvRecord& first,
                                  const std::string& file) {
  std::vector<std::string> columns;
  for (std::size_t i = 0; i < first.cells.size(); ++i) {
    const bool named = config.header && !first.cells[i].empty();
    columns.push_back(named ? std::string(first.cells[i]) : unnamed(i));
  }
  if (!config.column_names.empty()) {
    if (config.column_names.size() != columns.size()) {
      throw InputError("column_names has " + count_of(std::ssize(config.column_names), "name") +
                           ", the table " + count_of(std::ssize(columns), "column"),
                       {.where = {.file = file, .line = static_cast<int>(first.line)},
                        .hint = "name all columns, or none"});
    }
    columns = config.column_names;
  }
  check_names(columns, file, first.line);
  return columns;
}

}  // namespace

CsvTable::CsvTable(const CsvConfig& config)
    : config_(config),
      file_(config.file.text),
      memory_(read_input(file_, static_cast<std::uint64_t>(config.limit.count))),
      text_(text_in(memory_)),
      split_key_(RngKey(static_cast<std::uint64_t>(config.split_seed)).fold("csv split")) {
  check_text(1);
  CsvReader from_start = reader();
  read_header(from_start);
  for (const std::string& name : config.drop_missing) {
    needed_.push_back(column_named(name, columns_, file_));
  }
  if (!config.split_by.empty()) split_by_ = column_named(config.split_by, columns_, file_);
  find_rows(from_start, 0);
}

CsvTable::CsvTable(const CsvConfig& config, Rows rows)
    : config_(config),
      file_(std::move(rows.name)),
      rows_text_(std::make_unique<const std::string>(std::move(rows.text))),
      text_(*rows_text_),
      columns_(std::move(rows.columns)),
      split_key_(0) {
  check_text(rows.first_line);
  CsvReader from_first = reader();
  from_first.seek(0, rows.first_line);
  find_rows(from_first, rows.rows_before);
}

std::vector<std::string> CsvTable::columns_of(const CsvConfig& config, std::string_view first,
                                              std::int64_t line, const std::string& file) {
  if (line == 1 && first.starts_with(kUtf8Mark)) first.remove_prefix(kUtf8Mark.size());
  CsvReader reader(first, dialect_of(config), file);
  reader.seek(0, line);
  CsvRecord record;
  reader.next(record);
  return names_in(config, record, file);
}

CsvReader CsvTable::reader() const {
  return {text_, dialect_of(config_), file_};
}

void CsvTable::check_text(std::int64_t first_line) {
  if (text_.starts_with("\xFF\xFE") || text_.starts_with("\xFE\xFF")) {
    throw InputError(file_ + ": is UTF-16", {.hint = "save it as UTF-8"});
  }
  if (text_.starts_with(kUtf8Mark)) text_.remove_prefix(kUtf8Mark.size());
  if (text_.starts_with(kUtf8Mark)) {  // else it would be part of the first column's name
    throw InputError(file_ + ": starts with two byte order marks",
                     {.hint = "save the file as UTF-8 without a byte order mark"});
  }
  const auto fail_at = [&](std::size_t offset, const std::string& what, const std::string& hint) {
    const auto line = first_line + std::count(text_.begin(), text_.begin() + offset, '\n');
    throw InputError(what,
                     {.where = {.file = file_, .line = static_cast<int>(line)}, .hint = hint});
  };
  if (const std::size_t zero = text_.find('\0'); zero != std::string_view::npos) {
    fail_at(zero, "a zero byte", "this is not a text file, or its encoding is not UTF-8");
  }
  if (const auto bad = find_invalid_utf8(text_)) {
    std::array<char, 40> what{};
    std::snprintf(what.data(), what.size(), "the byte 0x%02X is not UTF-8 text",
                  static_cast<unsigned>(static_cast<unsigned char>(text_[*bad])));
    fail_at(*bad, what.data(), "save the file as UTF-8 (spreadsheets call it \"CSV UTF-8\")");
  }
}

void CsvTable::read_header(CsvReader& from_start) {
  for (std::int64_t i = 0; i < config_.skip_lines; ++i) from_start.skip_line();
  CsvRecord first;
  if (!from_start.next(first)) {
    throw InputError(file_ + ": the file has no rows", {.hint = "is skip_lines right?"});
  }
  columns_ = names_in(config_, first, file_);
  if (!config_.header) from_start.seek(first.offset, first.line);
}

void CsvTable::check_width(const CsvRecord& record, std::int64_t number) const {
  if (record.cells.size() == columns_.size()) return;
  const std::size_t has = record.cells.size();
  const std::string where = has < columns_.size()
                                ? "no cell for column " + shown_cell(columns_[has])
                                : "the last column is " + shown_cell(columns_.back()) + ", then " +
                                      shown_cell(record.cells[columns_.size()]);
  throw InputError("row " + std::to_string(number) + " has " +
                       count_of(static_cast<std::int64_t>(has), "cell") + ", the table " +
                       count_of(std::ssize(columns_), "column") + ": " + where,
                   {.where = {.file = file_, .line = static_cast<int>(record.line)},
                    .hint = "a cell that holds the delimiter must be in quotes"});
}

// `number`: of the row before the first.
void CsvTable::find_rows(CsvReader& from_first, std::int64_t number) {
  CsvRecord record;
  std::vector<TableCell> cells;
  while (from_first.next(record)) {
    check_width(record, ++number);
    mark_cells(record, cells);
    if (wants(cells)) rows_.push_back({record.offset, record.line, number});
  }
  if (number == 0) throw InputError(file_ + ": no rows below the header");
  if (rows_.empty()) {
    throw InputError(file_ + ": none of its " + count_of(number, "row") + " is left",
                     {.hint = "check part, eval_share and drop_missing"});
  }
}

void CsvTable::mark_cells(const CsvRecord& record, std::vector<TableCell>& cells) const {
  cells.clear();
  for (const std::string_view text : record.cells) {
    const bool missing =
        std::find(config_.missing.begin(), config_.missing.end(), text) != config_.missing.end();
    cells.push_back({text, missing});
  }
}

bool CsvTable::wants(const std::vector<TableCell>& cells) const {
  for (const std::size_t column : needed_) {
    if (cells[column].missing) return false;
  }
  if (config_.part == CsvPart::all) return true;
  return is_for_evaluation(cells) == (config_.part == CsvPart::eval);
}

// Uses the texts alone: quotes, line ends and the order of rows do not affect the side of a row.
bool CsvTable::is_for_evaluation(const std::vector<TableCell>& cells) const {
  RngKey key = split_key_;
  if (split_by_) {
    key = key.fold(cells[*split_by_].text);
  } else {
    for (const TableCell& cell : cells) key = key.fold(cell.text);
  }
  constexpr double kScale = 1.0 / (std::uint64_t{1} << 53);
  return static_cast<double>(key.value() >> 11) * kScale < config_.eval_share;
}

void CsvTable::scan(const std::function<void(const TableRow&)>& visit) const {
  CsvReader from = reader();
  CsvRecord record;
  std::vector<TableCell> cells;
  for (const Row& row : rows_) {
    from.seek(row.offset, row.line);
    from.next(record);
    mark_cells(record, cells);
    visit({cells, &file_, row.line, row.number, config_.decimal_mark[0]});
  }
}

}  // namespace trivet::data
