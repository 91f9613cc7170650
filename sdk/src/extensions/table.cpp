// SPDX-License-Identifier: Apache-2.0
#include "trivet/extensions/table.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "trivet/config/schema.h"
#include "trivet/text/strings.h"

namespace trivet {
namespace {

std::optional<double> parsed(std::string_view text) {
  if (text.starts_with('+')) {  // which from_chars does not take
    text.remove_prefix(1);
    if (text.starts_with('-')) return {};
  }
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, failure] = std::from_chars(text.data(), end, number);
  if (failure != std::errc() || stopped != end || !std::isfinite(number)) return {};
  return number;
}

}  // namespace

RowEncoder::~RowEncoder() = default;

std::optional<double> TableRow::number_in(std::size_t column) const {
  const std::string_view text = trim(cells[column].text, " \t");
  if (decimal_mark == '.') return parsed(text);
  // A point would be a thousands separator, and "1.234" must not become a bit more than one.
  if (text.find('.') != std::string_view::npos) return {};
  std::string with_point(text);
  std::replace(with_point.begin(), with_point.end(), decimal_mark, '.');
  return parsed(with_point);
}

std::size_t column_named(std::string_view name, const std::vector<std::string>& columns,
                         const std::string& file) {
  const auto found = std::find(columns.begin(), columns.end(), name);
  if (found != columns.end()) return static_cast<std::size_t>(found - columns.begin());
  const bool glued = columns.size() == 1 && columns[0].find_first_of(",;\t|") != std::string::npos;
  throw InputError(file + ": there is no column " + shown_cell(name),
                   {.hint = glued ? "the file has one column, " + shown_cell(columns[0]) +
                                        ": is the delimiter right?"
                                  : suggestion(name, columns)});
}

std::string shown_cell(std::string_view text) {
  constexpr std::size_t kMostBytes = 60;
  if (text.size() <= kMostBytes) return "'" + std::string(text) + "'";
  std::size_t end = kMostBytes;
  while ((static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;  // not inside a character
  return "'" + std::string(text.substr(0, end)) + "...'";
}

InputError TableRow::error(std::string_view column, const std::string& what,
                           std::string hint) const {
  return InputError(
      "row " + std::to_string(number) + ", column '" + std::string(column) + "': " + what,
      {.where = {.file = *file, .line = static_cast<int>(line)}, .hint = std::move(hint)});
}

}  // namespace trivet
