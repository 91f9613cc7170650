// SPDX-License-Identifier: Apache-2.0
// Builds the text of progress lines.
#include <stdlib.h>

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "base/format.h"
#include "base/terminal.h"
#include "base/terminal_text.h"
#include "cli/view/progress.h"

namespace trivet {
namespace {

constexpr int kBarEnds = 4;  // two blanks, then a border on each side
constexpr int kFewestCells = 4, kMostCells = 20;

bool locale_is_utf8() {
  // The first variable that is set decides (locale(7)).
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = ::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string text(value);
    return text.find("UTF-8") != std::string::npos || text.find("utf8") != std::string::npos;
  }
  return false;
}

std::string bar(double fraction, int cells, bool unicode) {
  fraction = std::clamp(fraction, 0.0, 1.0);
  if (!unicode) {
    const int full = static_cast<int>(fraction * cells);
    return "[" + std::string(static_cast<std::size_t>(full), '#') +
           std::string(static_cast<std::size_t>(cells - full), '.') + "]";
  }
  static constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int eighths = static_cast<int>(fraction * cells * 8);
  std::string text = "▕";
  for (int i = 0; i < eighths / 8; ++i) text += "█";
  text += kEighths[eighths % 8];
  const int used = eighths / 8 + (eighths % 8 != 0 ? 1 : 0);
  return text + std::string(static_cast<std::size_t>(cells - used), ' ') + "▏";
}

struct Part {
  std::string text;
  int importance;  // the least important goes first
};

std::string joined(const std::vector<Part>& parts) {
  std::string line;
  for (const Part& part : parts) line += "  " + part.text;
  return line;
}

double fraction_of(const RunProgress& state) {
  if (state.target <= 0) return 0;
  return static_cast<double>(state.step) / static_cast<double>(state.target);
}

}  // namespace

Terminal detect_terminal() {
  Terminal terminal;
  terminal.unicode = locale_is_utf8();
  if (!is_screen(stdout)) return terminal;
  terminal.style = OutputStyle::live;
  terminal.color = has_colors(stdout);
  return terminal;
}

std::string live_line(const RunProgress& state, int width, const Terminal& terminal) {
  const std::string target = std::to_string(state.target);
  std::vector<Part> parts = {{fmt::format("{:>{}}/{}", state.step, target.size(), target), 9},
                             {fmt::format("{:3.0f}%", 100 * fraction_of(state)), 4},
                             {"loss " + format_number(state.loss), 8}};
  if (!state.metric.empty()) {
    const std::string name = clipped(state.metric, width);
    parts.push_back({fmt::format("{} {}", name, format_number(state.metric_value)), 6});
  }
  if (state.tokens_per_second > 0) {
    parts.push_back({format_rate(state.tokens_per_second) + " tokens/s", 5});
  } else if (state.examples_per_second > 0) {
    parts.push_back({format_rate(state.examples_per_second) + " examples/s", 5});
  }
  if (state.mfu > 0) parts.push_back({fmt::format("MFU {:.0f}%", 100 * state.mfu), 3});
  if (state.seconds_left >= 0) {
    parts.push_back({"eta " + format_duration(state.seconds_left), 7});
  }
  const auto drop_least = [&] {
    parts.erase(std::min_element(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
      return a.importance < b.importance;
    }));
  };
  // The bar gets the remaining columns. It is kept before the percentage, which it also shows.
  const auto cells_left = [&] { return width - columns_of(joined(parts)) - kBarEnds; };
  if (cells_left() < kFewestCells) drop_least();
  while (parts.size() > 1 && columns_of(joined(parts)) > width) drop_least();
  if (cells_left() >= kFewestCells) {
    const int cells = std::min(cells_left(), kMostCells);
    parts.insert(parts.begin() + 1, {bar(fraction_of(state), cells, terminal.unicode), 0});
  }
  return clipped(joined(parts), width);
}

std::string plain_line(const RunProgress& state) {
  std::string line =
      fmt::format("step={}/{} loss={}", state.step, state.target, format_number(state.loss));
  if (!state.metric.empty()) {
    line += fmt::format(" {}={}", state.metric, format_number(state.metric_value));
  }
  if (state.examples_per_second > 0) {
    line += fmt::format(" examples_per_second={:.0f}", state.examples_per_second);
  }
  if (state.tokens_per_second > 0) {
    line += fmt::format(" tokens_per_second={:.0f}", state.tokens_per_second);
  }
  if (state.mfu > 0) line += fmt::format(" mfu={:.3f}", state.mfu);
  if (state.seconds_left >= 0) line += fmt::format(" eta={:.0f}s", state.seconds_left);
  return line;
}

}  // namespace trivet
