// SPDX-License-Identifier: Apache-2.0
// Charts in text, character by character, and tables.
#include "cli/view/chart.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include <catch2/catch.hpp>

#include "base/terminal_text.h"
#include "cli/view/text_table.h"

using namespace trivet;

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

ChartSeries rising(const std::string& label, double last) {
  return {label, {{0, 0}, {100, last}}};
}

const double kNan = std::nan("");

}  // namespace

TEST_CASE("a straight line runs from corner to corner between round numbers") {
  const std::string text =
      chart_text("loss", {rising("a run", 4)}, {.width = 24, .height = 5, .unicode = false});
  CHECK(text ==
        " loss\n"
        " 4 |                 ***\n"
        "   |            *****\n"
        " 2 |        ****\n"
        "   |   *****\n"
        " 0 |***\n"
        "   ++------------------+\n"
        "    0                100\n"
        "  * a run\n");
}

TEST_CASE("a single curve in UTF-8 is drawn in braille dots") {
  const std::string text =
      chart_text("loss", {rising("a", 1)}, {.width = 15, .height = 4, .unicode = true});
  CHECK(text ==
        " loss\n"
        " 1.0 ┤       ⢀⠤⠊\n"
        " 0.5 ┤     ⡠⠔⠁\n"
        "     │  ⢀⠔⠊\n"
        " 0.0 ┤⡠⠒⠁\n"
        "     └┬────────┬\n"
        "      0      100\n"
        "  ⠶ a\n");
}

TEST_CASE("several curves have their own markers, or colors if available") {
  const std::vector<ChartSeries> both = {rising("first", 1), {"second", {{0, 1}, {100, 0}}}};
  const std::string plain = chart_text("x", both, {.width = 40, .height = 8, .unicode = true});
  CHECK_THAT(plain, Catch::Contains("  ● first\n") && Catch::Contains("  ○ second\n"));
  CHECK_THAT(plain, !Catch::Contains("\x1b"));
  const std::string ascii = chart_text("x", both, {.width = 40, .height = 8});
  CHECK_THAT(ascii, Catch::Contains("  * first\n") && Catch::Contains("  o second\n"));
  const std::string colored =
      chart_text("x", both, {.width = 40, .height = 8, .unicode = true, .color = true});
  CHECK_THAT(colored, Catch::Contains("\x1b[36m") && Catch::Contains("\x1b[33m"));
  CHECK_THAT(colored, !Catch::Contains("●"));
}

TEST_CASE("no line of a chart is wider than requested") {
  const int width = GENERATE(30, 44, 80, 200);
  const double last = GENERATE(1e-320, 1e-9, 0.03, 1.0, 123456.0, 1e30, 1e308);
  const bool log_y = GENERATE(false, true);
  const ChartSeries series{std::string(300, 'n'), {{1, last / 7}, {1e7, last}}};
  const std::string text = chart_text(
      "title", {series}, {.width = width, .height = 12, .unicode = true, .log_y = log_y});
  for (const std::string& line : lines_of(text)) CHECK(columns_of(line) <= width);
}

TEST_CASE("gaps, single points and equal values are drawn, and an empty chart is reported") {
  const ChartStyle style{.width = 30, .height = 5};
  const auto drawn = [&](std::vector<ChartPoint> points) {
    const std::string text = chart_text("x", {{"s", std::move(points)}}, style);
    const std::string body = text.substr(0, text.rfind("  *"));
    return std::count(body.begin(), body.end(), '*');
  };
  CHECK(drawn({{5, 1}}) == 1);
  CHECK(drawn({{0, -1e308}, {9, 1e308}}) > 4);
  CHECK(drawn({{0, 2}, {10, 2}}) > 20);  // a level line
  // A gap in the middle: two dots, no line between them.
  CHECK(drawn({{0, 1}, {5, kNan}, {10, 1}}) == 2);
  CHECK(drawn({{0, 1}, {5, std::numeric_limits<double>::infinity()}, {10, 1}}) == 2);
  for (const std::vector<ChartPoint>& none :
       {std::vector<ChartPoint>{}, std::vector<ChartPoint>{{1, kNan}}}) {
    CHECK(chart_text("x", {{"s", none}}, style) == " x\n (no numbers to draw)\n");
  }
  CHECK(chart_text("x", {}, style) == " x\n (no numbers to draw)\n");
}

TEST_CASE("a logarithmic axis has powers of ten as labels and omits values of 0 or less") {
  const ChartSeries series{"s", {{0, 1e-3}, {1, 0}, {2, -5}, {3, 1e3}}};
  const std::string text = chart_text("x", {series}, {.width = 30, .height = 13, .log_y = true});
  for (const char* label : {"0.001 |", "0.1 |", "1 |", "10 |", "1000 |"}) {
    CHECK_THAT(text, Catch::Contains(label));
  }
  const std::string none =
      chart_text("x", {{"s", {{0, -1}}}}, {.width = 30, .height = 5, .log_y = true});
  CHECK_THAT(none, Catch::Contains("no numbers"));
}

TEST_CASE("ticks are 1, 2 or 5 times a power of ten apart, in range and not too many") {
  CHECK(round_ticks(0, 1000, 6) == std::vector<double>{0, 200, 400, 600, 800, 1000});
  CHECK(round_ticks(0, 1000, 5) == std::vector<double>{0, 500, 1000});
  CHECK(round_ticks(3, 3, 5) == std::vector<double>{3});
  CHECK(round_ticks(1e30, 1e30 * (1 + 1e-15), 5).size() <= 20);
  CHECK(round_ticks(0.6, 1.4, 3).size() >= 2);
  CHECK(round_ticks(0, std::numeric_limits<double>::infinity(), 5).size() == 1);
  for (const double high : {1e-300, 0.37, 17.0, 9e15}) {
    const auto ticks = round_ticks(-high / 3, high, 7);
    CHECK(ticks.size() >= 2);
    CHECK(ticks.size() <= 7);
    for (const double tick : ticks) {
      CHECK(tick >= -high / 3 * (1 + 1e-9));
      CHECK(tick <= high * (1 + 1e-9));
    }
  }
}

TEST_CASE(
    "a table keeps its columns, drops the last ones if needed, and prints no control characters") {
  TextTable table;
  table.column("NAME");
  table.column("N", TextTable::Align::right);
  table.column("MORE");
  table.row({"日本", "5", "x"});
  table.row({"a\x1b[2J\nb", "1234", ""});
  CHECK(table.text(0) ==
        "NAME        N  MORE\n"
        "日本        5  x\n"
        "a [2J b  1234\n");
  CHECK(table.text(16) ==
        "NAME        N\n"
        "日本        5\n"
        "a [2J b  1234\n");
  CHECK(table.text(3) == "NAME\n日本\na [2J b\n");  // the first one stays
}
