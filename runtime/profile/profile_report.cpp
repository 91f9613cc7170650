// SPDX-License-Identifier: Apache-2.0
#include "profile/profile_report.h"

#include <algorithm>
#include <functional>
#include <map>
#include <span>

#include <fmt/core.h>

#include "base/terminal_text.h"
#include "trivet/config/json.h"
#include "trivet/config/value.h"

namespace trivet {
namespace {

constexpr const char* kNoLayer = "(outside of layers)";

std::vector<ProfileRow> sorted(std::map<std::string, ProfileRow> rows, double steps) {
  std::vector<ProfileRow> all;
  for (auto& [name, row] : rows) {
    row.name = name;
    for (double* figure :
         {&row.calls, &row.seconds, &row.gradient_seconds, &row.flops, &row.bytes}) {
      *figure /= steps;
    }
    all.push_back(std::move(row));
  }
  std::ranges::stable_sort(all, std::ranges::greater(), &ProfileRow::seconds);
  return all;
}

std::vector<ProfileRow> rows_of_kernels(
    const ProfiledSteps& steps, const std::function<std::string(const Profile::Kernel&)>& name) {
  std::map<std::string, ProfileRow> rows;
  for (const Profile::Kernel& kernel : steps.kernels) {
    ProfileRow& row = rows[name(kernel)];
    row.calls += 1;
    row.seconds += kernel.seconds;
    row.gradient_seconds += kernel.gradient ? kernel.seconds : 0;
    row.flops += kernel.flops;
    row.bytes += kernel.bytes;
  }
  return sorted(std::move(rows), static_cast<double>(steps.steps()));
}

std::string layer_of(const ProfiledSteps& steps, std::uint32_t scope) {
  return scope == 0 || scope >= steps.scopes.size() ? kNoLayer : steps.scopes[scope];
}

double ratio(double a, double b) {
  return b > 0 ? a / b : 0;
}

std::string percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

std::string milliseconds(double seconds) {
  return fmt::format("{:.3f}", 1e3 * seconds);
}

// Columns as wide as their longest cell; the first is aligned to the left.
std::string table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line = fmt::format("  {:<{}}", row[0], widths[0]);
    for (std::size_t i = 1; i < row.size(); ++i) line += fmt::format("  {:>{}}", row[i], widths[i]);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::span<const ProfileRow> shown(const std::vector<ProfileRow>& rows, std::size_t most) {
  return std::span(rows).first(most == 0 ? rows.size() : std::min(most, rows.size()));
}

// Rows that the table leaves out, as one.
void add_rest(const std::vector<ProfileRow>& rows, std::size_t shown_rows, std::size_t columns,
              double step_seconds, std::vector<std::vector<std::string>>& cells) {
  if (shown_rows == rows.size()) return;
  double seconds = 0;
  for (const ProfileRow& row : std::span(rows).subspan(shown_rows)) seconds += row.seconds;
  std::vector<std::string> line(columns);
  line[0] = fmt::format("{} more", rows.size() - shown_rows);
  line[2] = milliseconds(seconds);
  line[3] = percent(ratio(seconds, step_seconds));
  cells.push_back(std::move(line));
}

std::string kernel_table(const ProfiledSteps& steps, std::size_t most, double step_seconds) {
  const std::vector<ProfileRow> rows = rows_by_kernel(steps);
  const bool has_peak = steps.peak_flops > 0;
  std::vector<std::vector<std::string>> cells{
      {"kernel", "calls/step", "ms/step", "of step", "GFLOP/s", "GB/s"}};
  if (has_peak) cells[0].emplace_back("of peak");
  for (const ProfileRow& row : shown(rows, most)) {
    cells.push_back({row.name, fmt::format("{:.1f}", row.calls), milliseconds(row.seconds),
                     percent(ratio(row.seconds, step_seconds)),
                     fmt::format("{:.1f}", 1e-9 * ratio(row.flops, row.seconds)),
                     fmt::format("{:.1f}", 1e-9 * ratio(row.bytes, row.seconds))});
    if (has_peak) {
      cells.back().push_back(percent(ratio(row.flops, row.seconds) / steps.peak_flops));
    }
  }
  add_rest(rows, shown(rows, most).size(), cells[0].size(), step_seconds, cells);
  return table(cells);
}

std::string layer_table(const ProfiledSteps& steps, std::size_t most, double step_seconds) {
  const std::vector<ProfileRow> rows = rows_by_layer(steps);
  std::vector<std::vector<std::string>> cells{
      {"layer", "calls/step", "ms/step", "of step", "forward ms", "backward ms", "GFLOP/s"}};
  for (const ProfileRow& row : shown(rows, most)) {
    cells.push_back({printable(row.name), fmt::format("{:.1f}", row.calls),
                     milliseconds(row.seconds), percent(ratio(row.seconds, step_seconds)),
                     milliseconds(row.seconds - row.gradient_seconds),
                     milliseconds(row.gradient_seconds),
                     fmt::format("{:.1f}", 1e-9 * ratio(row.flops, row.seconds))});
  }
  add_rest(rows, shown(rows, most).size(), cells[0].size(), step_seconds, cells);
  return table(cells);
}

std::string span_table(const ProfiledSteps& steps, double step_seconds) {
  std::vector<std::vector<std::string>> cells{{"part", "calls/step", "ms/step", "of step"}};
  for (const ProfileRow& row : rows_by_span(steps)) {
    cells.push_back({row.name, fmt::format("{:.1f}", row.calls), milliseconds(row.seconds),
                     percent(ratio(row.seconds, step_seconds))});
  }
  return table(cells);
}

// Each step, and their mean.
std::string exchange_table(const ProfiledSteps& steps, std::size_t most) {
  std::vector<std::vector<std::string>> cells{
      {"exchanges of units", "calls", "under way ms", "waited ms", "hidden"}};
  const std::vector<StepExchanges> all = exchanges_by_step(steps);
  const auto add = [&](const std::string& name, double count, const StepExchanges& row) {
    const double hidden = 1 - ratio(row.waited_seconds, row.under_way_seconds);
    cells.push_back({name, fmt::format("{:.1f}", count), milliseconds(row.under_way_seconds),
                     milliseconds(row.waited_seconds),
                     row.under_way_seconds > 0 ? percent(hidden) : ""});
  };
  StepExchanges sum;
  for (std::size_t i = 0; i < all.size(); ++i) {
    sum.count += all[i].count;
    sum.under_way_seconds += all[i].under_way_seconds;
    sum.waited_seconds += all[i].waited_seconds;
    if (most > 0 && i >= most) continue;
    add(fmt::format("step {}", all[i].step), static_cast<double>(all[i].count), all[i]);
  }
  const auto count = static_cast<double>(all.size());
  sum.under_way_seconds /= count;
  sum.waited_seconds /= count;
  add("mean", static_cast<double>(sum.count) / count, sum);
  return table(cells);
}

Value event(std::string_view name, std::int64_t thread, double begin, double seconds,
            Value arguments) {
  return Value::table({{"name", std::string(name)},
                       {"ph", "X"},
                       {"pid", 1},
                       {"tid", thread},
                       {"ts", 1e6 * begin},
                       {"dur", 1e6 * seconds},
                       {"args", std::move(arguments)}});
}

Value thread_name(std::int64_t thread, const std::string& name) {
  return Value::table({{"name", "thread_name"},
                       {"ph", "M"},
                       {"pid", 1},
                       {"tid", thread},
                       {"args", Value::table({{"name", name}})}});
}

}  // namespace

std::vector<ProfileRow> rows_by_kernel(const ProfiledSteps& steps) {
  return rows_of_kernels(steps,
                         [](const Profile::Kernel& kernel) { return std::string(kernel.name); });
}

std::vector<ProfileRow> rows_by_layer(const ProfiledSteps& steps) {
  return rows_of_kernels(
      steps, [&](const Profile::Kernel& kernel) { return layer_of(steps, kernel.scope); });
}

std::vector<ProfileRow> rows_by_span(const ProfiledSteps& steps) {
  std::map<std::string, ProfileRow> own, others;
  for (const Profile::Span& span : steps.spans) {
    const bool is_own = span.thread == 0;
    ProfileRow& row =
        is_own ? own[std::string(span.name)] : others[std::string(span.name) + " (thread)"];
    row.calls += 1;
    row.seconds += span.seconds;
  }
  const auto count = static_cast<double>(steps.steps());
  std::vector<ProfileRow> rows = sorted(std::move(own), count);
  for (ProfileRow& row : sorted(std::move(others), count)) rows.push_back(std::move(row));
  return rows;
}

std::vector<StepExchanges> exchanges_by_step(const ProfiledSteps& steps) {
  std::vector<StepExchanges> all;
  for (std::int64_t step = steps.first; step <= steps.last; ++step) all.push_back({.step = step});
  std::vector<UnitExchange> sorted = steps.exchanges;
  std::ranges::sort(sorted, {}, &UnitExchange::begin);
  std::vector<double> covered(all.size());  // the end of what has been counted
  for (const UnitExchange& one : sorted) {
    const auto end = std::ranges::lower_bound(steps.ends, one.end);
    const auto index = static_cast<std::size_t>(end - steps.ends.begin());
    if (index >= all.size()) continue;
    StepExchanges& row = all[index];
    ++row.count;
    row.waited_seconds += one.end - one.wait;
    const double begin = std::max(one.begin, covered[index]);
    row.under_way_seconds += std::max(0.0, one.end - begin);
    covered[index] = std::max(covered[index], one.end);
  }
  return all;
}

std::string profile_text(const ProfiledSteps& steps, std::size_t most_rows) {
  double in_kernels = 0;
  for (const Profile::Kernel& kernel : steps.kernels) in_kernels += kernel.seconds;
  const double step_seconds = steps.seconds() / static_cast<double>(steps.steps());
  std::string text = fmt::format("profile of steps {} to {}: {} ms a step, {} of it in kernels\n",
                                 steps.first, steps.last, milliseconds(step_seconds),
                                 percent(ratio(in_kernels, steps.seconds())));
  text += span_table(steps, step_seconds) + "\n";
  if (!steps.exchanges.empty()) text += exchange_table(steps, most_rows) + "\n";
  text += kernel_table(steps, most_rows, step_seconds) + "\n" +
          layer_table(steps, most_rows, step_seconds);
  if (steps.peak_flops > 0) {
    text += fmt::format("peak {:.4g} FLOP/s\n", steps.peak_flops);
  } else {
    text += "the peak is unknown: 'trivet doctor --peak' measures it\n";
  }
  return text;
}

std::string chrome_trace(const ProfiledSteps& steps) {
  // Kernels are below the spans of the thread that calls them.
  constexpr std::int64_t kSteps = 0, kSpans = 1, kKernels = 2, kOthers = 3;
  Value events = Value::array();
  events.push_back(thread_name(kSteps, "steps"));
  events.push_back(thread_name(kSpans, "training"));
  events.push_back(thread_name(kKernels, "kernels"));
  double begin = 0;
  for (std::size_t i = 0; i < steps.ends.size(); ++i) {
    const std::int64_t step = steps.first + static_cast<std::int64_t>(i);
    events.push_back(
        event(fmt::format("step {}", step), kSteps, begin, steps.ends[i] - begin, Value::table()));
    begin = steps.ends[i];
  }
  std::uint32_t threads = 0;
  for (const Profile::Span& span : steps.spans) {
    threads = std::max(threads, span.thread);
    const std::int64_t thread = span.thread == 0 ? kSpans : kOthers + span.thread - 1;
    events.push_back(event(span.name, thread, span.begin, span.seconds, Value::table()));
  }
  for (std::uint32_t thread = 1; thread <= threads; ++thread) {
    events.push_back(thread_name(kOthers + thread - 1, fmt::format("thread {}", thread)));
  }
  for (const Profile::Kernel& kernel : steps.kernels) {
    events.push_back(event(kernel.name, kKernels, kernel.begin, kernel.seconds,
                           Value::table({{"layer", layer_of(steps, kernel.scope)},
                                         {"pass", kernel.gradient ? "backward" : "forward"},
                                         {"flops", kernel.flops},
                                         {"bytes", kernel.bytes}})));
  }
  return to_json(Value::table({{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}}));
}

}  // namespace trivet
