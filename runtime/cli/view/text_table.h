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
  // Needs one cell per column. Cells may contain any text; printable() is applied.
  void row(std::vector<std::string> cells);

  // Returns a line for the head and one for every row, with two blanks between columns. If the
  // table is wider than `width`, omits columns at the end, but never the first. 0: no limit.
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
