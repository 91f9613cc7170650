// SPDX-License-Identifier: Apache-2.0
#include "cli/view/chart_canvas.h"

#include <array>
#include <cmath>
#include <cstdlib>

#include <fmt/core.h>

namespace trivet {
namespace {

// Foreground colors that are distinct on light and dark backgrounds.
constexpr std::array kColors = {36, 33, 35, 32, 31, 34};
constexpr std::array kSymbols = {"●", "○", "▲", "■", "◆", "×", "+", "□"};
constexpr std::string_view kLetters = "*ox#@+%&";

// Unicode, "Braille Patterns": the bit of each dot, by column and row from the top.
constexpr std::uint8_t kDotBits[2][4] = {{0x01, 0x02, 0x04, 0x40}, {0x08, 0x10, 0x20, 0x80}};

// U+2800 + dots as UTF-8.
std::string braille(std::uint8_t dots) {
  return {'\xE2', static_cast<char>(0xA0 | dots >> 6), static_cast<char>(0x80 | (dots & 0x3F))};
}

std::string in_color(const std::string& text, int series) {
  const int color = kColors[static_cast<std::size_t>(series) % kColors.size()];
  return fmt::format("\x1b[{}m{}\x1b[0m", color, text);
}

std::string symbol_of(int series, CanvasMarks marks) {
  const auto i = static_cast<std::size_t>(series);
  if (marks == CanvasMarks::symbols) return kSymbols[i % kSymbols.size()];
  return std::string(1, kLetters[i % kLetters.size()]);
}

}  // namespace

ChartCanvas::ChartCanvas(int columns, int rows, CanvasMarks marks)
    : columns_(columns),
      rows_(rows),
      across_(marks == CanvasMarks::braille ? 2 : 1),
      down_(marks == CanvasMarks::braille ? 4 : 1),
      marks_(marks),
      cells_(static_cast<std::size_t>(columns * rows)) {}

void ChartCanvas::dot(int x, int y, int series) {
  const int from_top = dots_down() - 1 - y;
  Cell& cell = cells_[static_cast<std::size_t>(from_top / down_ * columns_ + x / across_)];
  cell.dots |= kDotBits[x % across_][from_top % down_];
  cell.series = static_cast<std::int8_t>(series % 120);
}

// Bresenham's algorithm for all directions.
void ChartCanvas::line(int x0, int y0, int x1, int y1, int series) {
  const int dx = std::abs(x1 - x0), dy = -std::abs(y1 - y0);
  const int step_x = x0 < x1 ? 1 : -1, step_y = y0 < y1 ? 1 : -1;
  int error = dx + dy;
  while (true) {
    dot(x0, y0, series);
    if (x0 == x1 && y0 == y1) return;
    const int doubled = 2 * error;
    if (doubled >= dy) error += dy, x0 += step_x;
    if (doubled <= dx) error += dx, y0 += step_y;
  }
}

std::string ChartCanvas::row(int row, bool color) const {
  std::string text;
  for (int column = 0; column < columns_; ++column) {
    const Cell& cell = cells_[static_cast<std::size_t>(row * columns_ + column)];
    if (cell.series < 0) {
      text += ' ';
      continue;
    }
    const std::string mark =
        marks_ == CanvasMarks::braille ? braille(cell.dots) : symbol_of(cell.series, marks_);
    text += color ? in_color(mark, cell.series) : mark;
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

std::string mark_of_series(int series, CanvasMarks marks, bool color) {
  const std::string mark = marks == CanvasMarks::braille ? braille(0x36) : symbol_of(series, marks);
  return color ? in_color(mark, series) : mark;
}

}  // namespace trivet
