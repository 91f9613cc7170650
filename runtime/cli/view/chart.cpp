// SPDX-License-Identifier: Apache-2.0
#include "cli/view/chart.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/core.h>

#include "base/terminal_text.h"
#include "cli/view/chart_canvas.h"

namespace trivet {
namespace {

constexpr int kLeastColumns = 10, kLeastRows = 4;
constexpr double kSlack = 1e-9;  // for ends that are round numbers but for their last bits

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void take(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool empty() const { return low > high; }
  // Widens the range of a single value.
  void widen() {
    if (low < high) return;
    const double room = low == 0 ? 1 : std::abs(low) / 10;
    low -= room, high += room;
  }
  int dot(double value, int dots) const {
    // Halves, because the full range may overflow.
    const double fraction = (value / 2 - low / 2) / (high / 2 - low / 2);
    return std::clamp(static_cast<int>(std::lround(fraction * (dots - 1))), 0, dots - 1);
  }
};

// The value to draw: its logarithm if the axis is logarithmic.
double height_of(const ChartPoint& point, const ChartStyle& style) {
  if (!style.log_y) return point.y;
  return point.y > 0 ? std::log10(point.y) : std::numeric_limits<double>::quiet_NaN();
}

std::string number_text(double value, double step) {
  if (std::abs(value) >= 1e6 || step < 1e-5) return fmt::format("{:.4g}", value);
  const int decimals = std::max(0, static_cast<int>(-std::floor(std::log10(step) + 1e-9)));
  return fmt::format("{:.{}f}", value, decimals);
}

struct Tick {
  double at = 0;  // in the range
  std::string text;
};

// Rounds an end that is nearly a round number, so that it gets a label.
void round_ends(Range& range, int most) {
  constexpr double kNear = 0.15;
  const std::vector<double> values = round_ticks(range.low, range.high, most);
  if (values.size() < 2) return;
  const double step = values[1] - values[0], near = kNear * (range.high - range.low);
  const double below = values.front() - step, above = values.back() + step;
  if (range.low - below <= near && values.front() > range.low) range.low = below;
  if (above - range.high <= near && values.back() < range.high) range.high = above;
}

std::vector<Tick> linear_ticks(const Range& range, int most) {
  std::vector<Tick> ticks;
  const std::vector<double> values = round_ticks(range.low, range.high, most);
  const double step = values.size() > 1 ? values[1] - values[0] : range.high - range.low;
  for (const double value : values) ticks.push_back({value, number_text(value, step)});
  return ticks;
}

// Integer powers of ten. If the range contains fewer than two, its ends.
std::vector<Tick> log_ticks(const Range& range, int most) {
  std::vector<Tick> ticks;
  const double first = std::ceil(range.low), last = std::floor(range.high);
  const double apart = std::max(1.0, std::ceil((last - first + 1) / most));
  for (double power = first; power <= last; power += apart) {
    ticks.push_back({power, fmt::format("{:g}", std::pow(10.0, power))});
  }
  if (ticks.size() > 1) return ticks;
  return {{range.low, fmt::format("{:.3g}", std::pow(10.0, range.low))},
          {range.high, fmt::format("{:.3g}", std::pow(10.0, range.high))}};
}

// Draws the points in range. A gap ends a line.
void draw(ChartCanvas& canvas, const ChartSeries& series, int number, const Range& x,
          const Range& y, const ChartStyle& style) {
  bool joined = false;
  int last_x = 0, last_y = 0;
  for (const ChartPoint& point : series.points) {
    const double height = height_of(point, style);
    if (!std::isfinite(point.x) || !std::isfinite(height)) {
      joined = false;
      continue;
    }
    const int dot_x = x.dot(point.x, canvas.dots_across());
    const int dot_y = y.dot(height, canvas.dots_down());
    if (!joined) last_x = dot_x, last_y = dot_y;
    canvas.line(last_x, last_y, dot_x, dot_y, number);
    last_x = dot_x, last_y = dot_y;
    joined = true;
  }
}

struct Axes {
  Range x, y;
  int label_width = 0;
  int columns = 0, rows = 0;
  std::vector<Tick> y_ticks, x_ticks;
};

// Steps are integers, so ticks between two steps have no meaning.
std::vector<Tick> step_ticks(const Range& range, int most) {
  std::vector<Tick> ticks = linear_ticks(range, most);
  const auto is_whole = [](const Tick& tick) { return tick.at == std::round(tick.at); };
  if (std::any_of(ticks.begin(), ticks.end(), is_whole)) {
    std::erase_if(ticks, [&](const Tick& tick) { return !is_whole(tick); });
  }
  for (Tick& tick : ticks) {
    if (is_whole(tick)) tick.text = fmt::format("{:.10g}", tick.at);
  }
  return ticks;
}

std::string x_axis_text(const Axes& axes, const ChartCanvas& canvas, bool unicode) {
  const std::string margin(static_cast<std::size_t>(axes.label_width + 1), ' ');
  std::vector<std::string> rule(static_cast<std::size_t>(axes.columns), unicode ? "─" : "-");
  std::string labels;
  for (const Tick& tick : axes.x_ticks) {
    const int dots = canvas.dots_across();
    const int column = axes.x.dot(tick.at, dots) * axes.columns / dots;
    const auto size = static_cast<int>(tick.text.size());
    const int start = std::clamp(column - size / 2, 0, std::max(0, axes.columns - size));
    // Labels need a blank between them; otherwise the later one is omitted.
    if (!labels.empty() && start <= static_cast<int>(labels.size())) continue;
    labels.resize(static_cast<std::size_t>(start), ' ');
    labels += tick.text;
    rule[static_cast<std::size_t>(column)] = unicode ? "┬" : "+";
  }
  std::string text = margin + (unicode ? "└" : "+");
  for (const std::string& part : rule) text += part;
  return text + "\n" + margin + " " + labels + "\n";
}

std::string body_text(const ChartCanvas& canvas, const Axes& axes, const ChartStyle& style,
                      bool color) {
  std::vector<std::string> labels(static_cast<std::size_t>(axes.rows));
  for (const Tick& tick : axes.y_ticks) {
    const int dots = canvas.dots_down();
    const int row = (dots - 1 - axes.y.dot(tick.at, dots)) * axes.rows / dots;
    labels[static_cast<std::size_t>(row)] = tick.text;
  }
  std::string text;
  for (int row = 0; row < axes.rows; ++row) {
    const std::string& label = labels[static_cast<std::size_t>(row)];
    const std::string edge = style.unicode ? (label.empty() ? "│" : "┤") : "|";
    text += fmt::format("{:>{}} {}{}\n", label, axes.label_width, edge, canvas.row(row, color));
  }
  return text;
}

}  // namespace

std::vector<double> round_ticks(double low, double high, int most) {
  if (!(high > low) || !std::isfinite(high - low) || most < 1) return {low};
  const double power = std::pow(10.0, std::floor(std::log10((high - low) / most)));
  if (!(power > 0)) return {low};
  const auto count = [&](double apart) {
    return std::floor(high / apart + kSlack) - std::ceil(low / apart - kSlack) + 1;
  };
  double step = power;
  for (const double factor : {2.0, 5.0, 10.0}) {
    // Prefers too many ticks to a single one.
    if (count(step) <= most || count(factor * power) < 2) break;
    step = factor * power;
  }
  std::vector<double> ticks;
  const double first = std::ceil(low / step - kSlack), last = std::floor(high / step + kSlack);
  // Counts in integers: adding 1 to a large double may not change it.
  for (int i = 0; first + i <= last && i < 4 * most; ++i) ticks.push_back((first + i) * step);
  return ticks;
}

std::string chart_text(std::string_view title, const std::vector<ChartSeries>& series,
                       const ChartStyle& style) {
  std::string text = fmt::format(" {}\n", title);
  Axes axes;
  for (const ChartSeries& one : series) {
    for (const ChartPoint& point : one.points) {
      const double height = height_of(point, style);
      if (!std::isfinite(point.x) || !std::isfinite(height)) continue;
      axes.x.take(point.x), axes.y.take(height);
    }
  }
  if (axes.x.empty()) return text + " (no numbers to draw)\n";
  axes.x.widen(), axes.y.widen();

  axes.rows = std::max(style.height, kLeastRows);
  const int most_ticks = std::max(3, axes.rows / 3);
  if (!style.log_y) round_ends(axes.y, most_ticks);
  axes.y_ticks = style.log_y ? log_ticks(axes.y, axes.rows / 2) : linear_ticks(axes.y, most_ticks);
  for (const Tick& tick : axes.y_ticks) {
    axes.label_width = std::max(axes.label_width, static_cast<int>(tick.text.size()));
  }
  axes.label_width += 1;
  axes.columns = std::max(style.width - axes.label_width - 2, kLeastColumns);
  axes.x_ticks = step_ticks(axes.x, std::max(2, axes.columns / 12));

  const bool alone = series.size() == 1;
  const bool color = style.color && !alone;
  const CanvasMarks marks = !style.unicode   ? CanvasMarks::letters
                            : alone || color ? CanvasMarks::braille
                                             : CanvasMarks::symbols;
  ChartCanvas canvas(axes.columns, axes.rows, marks);
  for (std::size_t i = 0; i < series.size(); ++i) {
    draw(canvas, series[i], static_cast<int>(i), axes.x, axes.y, style);
  }
  text += body_text(canvas, axes, style, color);
  text += x_axis_text(axes, canvas, style.unicode);
  for (std::size_t i = 0; i < series.size(); ++i) {
    text += fmt::format("  {} {}\n", mark_of_series(static_cast<int>(i), marks, color),
                        clipped(series[i].label, std::max(style.width - 4, kLeastColumns)));
  }
  return text;
}

}  // namespace trivet
