// SPDX-License-Identifier: Apache-2.0
// Line charts in text: curves in braille dots (2 x 4 a character), axes with round numbers, a
// legend. Without colors, several curves have different markers, one per character.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace trivet {

struct ChartPoint {
  double x = 0;  // a step
  double y = 0;  // non-finite values are gaps
};

struct ChartSeries {
  std::string label;
  std::vector<ChartPoint> points;  // joined in this order
};

struct ChartStyle {
  int width = 80;   // total width in columns; the curves get at least ten
  int height = 16;  // rows of the curves
  bool unicode = false;
  bool color = false;
  bool log_y = false;  // values of 0 and less are gaps
};

// Returns complete lines: title, curves with axes, legend. Reports if there is no point to draw.
// Texts come from files, so they must be printable() already.
std::string chart_text(std::string_view title, const std::vector<ChartSeries>& series,
                       const ChartStyle& style);

// Round numbers (1, 2 or 5 times a power of ten apart) in [low, high]: at most `most` of them, or
// up to twice as many if there would be only one.
std::vector<double> round_ticks(double low, double high, int most);

}  // namespace trivet
