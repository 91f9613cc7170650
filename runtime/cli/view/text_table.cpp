// SPDX-License-Identifier: Apache-2.0
#include "cli/view/text_table.h"

#include <algorithm>
#include <utility>

#include "base/terminal_text.h"
#include "trivet/error.h"

namespace trivet {

void TextTable::column(std::string head, Align align) {
  head = one_line(head);
  const int wide = columns_of(head);
  columns_.push_back({std::move(head), align, wide});
}

void TextTable::row(std::vector<std::string> cells) {
  if (cells.size() != columns_.size()) throw Error("a table row has a different number of columns");
  for (std::size_t i = 0; i < cells.size(); ++i) {
    cells[i] = one_line(cells[i]);
    columns_[i].widest = std::max(columns_[i].widest, columns_of(cells[i]));
  }
  rows_.push_back(std::move(cells));
}

std::string TextTable::text(int width) const {
  std::vector<int> widths;
  int used = -2;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    used += columns_[i].widest + 2;
    if (i > 0 && width > 0 && used > width) break;
    widths.push_back(columns_[i].widest);
  }
  std::string all;
  const auto add_line = [&](const auto& cell_of) {
    for (std::size_t i = 0; i < widths.size(); ++i) {
      const std::string& cell = cell_of(i);
      const auto room = static_cast<std::size_t>(widths[i] - columns_of(cell));
      all.append(i == 0 ? 0 : 2, ' ');
      if (columns_[i].align == Align::right) all.append(room, ' ');
      all += cell;
      if (columns_[i].align == Align::left) all.append(room, ' ');
    }
    all.erase(all.find_last_not_of(' ') + 1) += '\n';
  };
  add_line([&](std::size_t i) -> const std::string& { return columns_[i].head; });
  for (const auto& row : rows_) {
    add_line([&](std::size_t i) -> const std::string& { return row[i]; });
  }
  return all;
}

}  // namespace trivet
