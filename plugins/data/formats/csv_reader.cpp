// SPDX-License-Identifier: Apache-2.0
#include "data/formats/csv_reader.h"

#include <algorithm>
#include <utility>

#include "trivet/error.h"

namespace trivet::data {

CsvReader::CsvReader(std::string_view text, Dialect dialect, std::string file)
    : text_(text), dialect_(dialect), file_(std::move(file)) {}

void CsvReader::fail(std::int64_t line, const std::string& what, std::string hint) const {
  throw InputError(
      what, {.where = {.file = file_, .line = static_cast<int>(line)}, .hint = std::move(hint)});
}

void CsvReader::fail_too_long() const {
  fail(record_line_,
       "the row that starts here is longer than " + std::to_string(kMostRecordBytes >> 20) + " MiB",
       "is a quote missing, or is this not a CSV file?");
}

void CsvReader::seek(std::size_t offset, std::int64_t line) {
  at_ = offset;
  line_ = line;
}

void CsvReader::skip_line() {
  const std::size_t end = text_.find('\n', at_);
  at_ = end == std::string_view::npos ? text_.size() : end + 1;
  ++line_;
}

// Moves past LF or CRLF; false where there is none.
bool CsvReader::at_line_end() {
  if (text_[at_] == '\r') {
    if (at_ + 1 == text_.size() || text_[at_ + 1] != '\n') {
      fail(line_, "a carriage return without a line feed",
           "save the file with LF or CRLF at line ends, or put the cell in quotes");
    }
    ++at_;
  }
  if (text_[at_] != '\n') return false;
  ++at_;
  ++line_;
  return true;
}

bool CsvReader::next(CsvRecord& record) {
  while (at_ < text_.size() && at_line_end()) {
  }
  if (at_ == text_.size()) return false;
  record.offset = at_;
  record.line = record_line_ = line_;
  stop_ = std::min(text_.size(), at_ + kMostRecordBytes);
  pieces_.clear();
  copies_.clear();
  do {
    if (dialect_.trim) skip_spaces();
    const bool quoted = at_ < text_.size() && text_[at_] == '"';
    pieces_.push_back(quoted ? read_quoted() : read_plain());
    if (dialect_.trim) skip_spaces();
  } while (end_cell());
  record.cells.clear();
  for (const Piece& piece : pieces_) {
    const std::string_view from = piece.copied ? std::string_view(copies_) : text_;
    record.cells.push_back(from.substr(piece.offset, piece.size));
  }
  return true;
}

bool CsvReader::is_space(char c) const {
  return (c == ' ' || c == '\t') && c != dialect_.delimiter;
}

void CsvReader::skip_spaces() {
  while (at_ < stop_ && is_space(text_[at_])) ++at_;
}

CsvReader::Piece CsvReader::read_plain() {
  const std::size_t begin = at_;
  const auto ends_cell = [&](char c) { return c == dialect_.delimiter || c == '\n' || c == '\r'; };
  while (at_ < stop_ && !ends_cell(text_[at_])) {
    if (text_[at_] == '"') {
      fail(line_, "a quote inside a cell that does not start with one",
           "put the whole cell in quotes and double those inside it: \"5\"\" pipe\"");
    }
    ++at_;
  }
  if (at_ == stop_ && stop_ < text_.size()) fail_too_long();
  std::size_t end = at_;
  if (dialect_.trim) {
    while (begin < end && is_space(text_[end - 1])) --end;
  }
  return {false, begin, end - begin};
}

CsvReader::Piece CsvReader::read_quoted() {
  const std::int64_t opened = line_;
  const std::size_t copied = copies_.size();
  bool doubled = false;
  for (std::size_t begin = ++at_;; begin = at_) {
    const std::size_t quote = text_.substr(0, stop_).find('"', begin);
    if (quote == std::string_view::npos) {
      if (stop_ < text_.size()) fail_too_long();
      fail(opened, "the quote that opens a cell here is never closed",
           "is the file cut off, or a quote not doubled?");
    }
    const std::string_view part = text_.substr(begin, quote - begin);
    line_ += std::count(part.begin(), part.end(), '\n');
    at_ = quote + 1;
    const bool again = at_ < text_.size() && text_[at_] == '"';
    if (!again && !doubled) return {false, begin, part.size()};
    copies_ += part;
    if (!again) return {true, copied, copies_.size() - copied};
    doubled = true;
    copies_ += '"';
    ++at_;
  }
}

bool CsvReader::end_cell() {
  if (at_ == text_.size()) return false;
  if (text_[at_] == dialect_.delimiter) {
    ++at_;
    return true;
  }
  if (!at_line_end()) {
    fail(line_, "unexpected text after the closing quote of a cell",
         "a quote inside a cell in quotes must be doubled");
  }
  return false;
}

}  // namespace trivet::data
