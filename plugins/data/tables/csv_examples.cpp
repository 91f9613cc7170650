// SPDX-License-Identifier: Apache-2.0
#include "data/tables/csv_examples.h"

#include <algorithm>
#include <utility>

#include "trivet/error.h"

namespace trivet::data {
namespace {

// Rows to predict are all rows.
CsvConfig for_all_rows(CsvConfig config) {
  config.part = CsvPart::all;
  config.drop_missing.clear();
  return config;
}

}  // namespace

CsvExamples::CsvExamples(CsvConfig config, const std::string& file)
    : config_(for_all_rows(std::move(config))), lines_(file) {
  std::string skipped;
  for (std::int64_t i = 0; i < config_.skip_lines; ++i) lines_.next(skipped);
  std::optional<Record> first = next_record();
  if (!first) throw InputError(name() + ": there are no rows", {.hint = "is skip_lines right?"});
  columns_ = CsvTable::columns_of(config_, first->text, first->line, name());
  if (!config_.header) pending_ = std::move(first);
}

// Quotes come in pairs (RFC 4180), so a record is complete with an even number of them.
std::optional<CsvExamples::Record> CsvExamples::next_record() {
  if (pending_) return std::exchange(pending_, std::nullopt);
  Record record;
  std::string line;
  std::int64_t quotes = 0;
  while (lines_.next(line)) {
    if (record.text.empty() && line.empty()) continue;
    if (record.text.empty()) record.line = lines_.line();
    record.text += line;
    record.text += '\n';
    quotes += std::ranges::count(line, '"');
    if (quotes % 2 == 0 || record.text.size() > CsvReader::kMostRecordBytes) return record;
  }
  if (record.text.empty()) return std::nullopt;
  return record;
}

std::optional<CsvTable> CsvExamples::next(std::int64_t most) {
  std::string text;
  std::int64_t first_line = 0, line = 0, count = 0;
  while (count < most && (count == 0 || lines_.has_next_now())) {
    const std::optional<Record> record = next_record();
    if (!record) break;
    if (count == 0) first_line = line = record->line;
    // Empty lines between the rows, so that lines keep their numbers.
    for (; line < record->line; ++line) text += '\n';
    text += record->text;
    line += std::ranges::count(record->text, '\n');
    ++count;
  }
  if (count == 0) return std::nullopt;
  CsvTable table(config_, {.columns = columns_,
                           .text = std::move(text),
                           .name = name(),
                           .first_line = first_line,
                           .rows_before = rows_});
  rows_ += count;
  return table;
}

}  // namespace trivet::data
