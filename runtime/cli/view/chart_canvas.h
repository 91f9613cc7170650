// SPDX-License-Identifier: Apache-2.0
// ChartCanvas: a grid of characters on which curves are drawn dot by dot.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace trivet {

// How curves are distinguished: by color over braille dots, or by markers.
enum class CanvasMarks { braille, symbols, letters };

class ChartCanvas {
 public:
  ChartCanvas(int columns, int rows, CanvasMarks marks);

  int dots_across() const { return columns_ * across_; }
  int dots_down() const { return rows_ * down_; }

  // Draws a straight line of curve number `series` between two dots, including both. (0, 0) is the
  // lower left.
  void line(int x0, int y0, int x1, int y1, int series);
  // Row 0 is the top one. With colors, every curve's characters are in its color.
  std::string row(int row, bool color) const;

 private:
  void dot(int x, int y, int series);

  struct Cell {
    std::uint8_t dots = 0;
    std::int8_t series = -1;  // drawn last
  };
  int columns_, rows_;
  int across_, down_;  // dots of a character
  CanvasMarks marks_;
  std::vector<Cell> cells_;
};

// The marker of a curve in a legend, in the curve's color if colors are on.
std::string mark_of_series(int series, CanvasMarks marks, bool color);

}  // namespace trivet
