// SPDX-License-Identifier: Apache-2.0
// TextTable: rows of cells under a head, in columns as wide as their widest cell.
#pragma once

#include <string>
#include <vector>

namespace trivet {

class TextTable {
 public:
  enum class Align { left, right };
  void column(std::string head, Align align = Align::left);
  // As many cells as there are columns. Texts may hold anything; they are shown printable().
  void row(std::vector<std::string> cells);

  // A line for the head and one for every row, two blanks between columns. What does not fit into
  // `width` columns loses whole columns at the end, but for the first; 0: all of it.
  std::string text(int width) const;

 private:
  struct Column {
    std::string head;
    Align align;
    int widest = 0;  // of the head and all cells
  };
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace trivet
