// SPDX-License-Identifier: Apache-2.0
#include "cli/text_table.h"

#include <algorithm>
#include <utility>

#include "cli/text_columns.h"
#include "trivet/error.h"

namespace trivet {
namespace {

std::string one_line(const std::string& text) {
  std::string shown = printable(text);
  std::replace(shown.begin(), shown.end(), '\n', ' ');
  return shown;
}

}  // namespace

void TextTable::column(std::string head, Align align) {
  columns_.push_back({one_line(head), align});
}

void TextTable::row(std::vector<std::string> cells) {
  if (cells.size() != columns_.size()) throw Error("a row of a table has other columns");
  for (std::string& cell : cells) cell = one_line(cell);
  rows_.push_back(std::move(cells));
}

std::string TextTable::text(int width) const {
  std::vector<int> widths;
  int used = -2;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    int widest = columns_of(columns_[i].head);
    for (const auto& row : rows_) widest = std::max(widest, columns_of(row[i]));
    used += widest + 2;
    if (i > 0 && width > 0 && used > width) break;
    widths.push_back(widest);
  }
  const auto line = [&](const auto& cell_of) {
    std::string text;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      const std::string& cell = cell_of(i);
      const std::string room(static_cast<std::size_t>(widths[i] - columns_of(cell)), ' ');
      text += i == 0 ? "" : "  ";
      text += columns_[i].align == Align::left ? cell + room : room + cell;
    }
    return text.erase(text.find_last_not_of(' ') + 1) + "\n";
  };
  std::string all = line([&](std::size_t i) -> const std::string& { return columns_[i].head; });
  for (const auto& row : rows_) {
    all += line([&](std::size_t i) -> const std::string& { return row[i]; });
  }
  return all;
}

}  // namespace trivet
