// SPDX-License-Identifier: Apache-2.0
// trivet plot: draws curves of runs in the terminal.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "base/format.h"
#include "base/terminal.h"
#include "base/terminal_text.h"
#include "cli/command_info.h"
#include "cli/option_number.h"
#include "cli/view/chart.h"
#include "cli/view/progress.h"
#include "cli/view/run_numbers.h"
#include "rundir/evaluations.h"
#include "rundir/metrics_reader.h"
#include "trivet/config/enums.h"
#include "trivet/config/json.h"
#include "trivet/config/schema.h"
#include "trivet/error.h"

namespace trivet {
namespace {

namespace fs = std::filesystem;

constexpr OptionSpec kPlotOptions[] = {
    {.name = "log", .doc = "Logarithmic y axis; omits values of 0 or less"},
    {.name = "width",
     .value = "N",
     .doc = "Width in columns (that of the terminal; without one 80)"},
    {.name = "height", .value = "N", .doc = "Height of a chart in rows (16)"},
    {.name = "json", .doc = "Print the points as JSON"},
};
constexpr const char* kMetricsFile = "metrics.jsonl";
// Default metrics.
constexpr const char* kDefaultChart = "training_loss,validation_loss";

// The metrics of one chart, such as "training_loss,validation_loss".
struct ChartRequest {
  std::string title;
  std::vector<NumberName> names;

  bool wants(RecordKind kind, std::string_view number) const {
    return std::any_of(names.begin(), names.end(),
                       [&](const NumberName& name) { return name.fits(kind, number); });
  }
};

struct PlottedRun {
  fs::path path;
  std::string label;
  MetricsContent metrics;
};

struct Request {
  std::vector<fs::path> runs;
  std::vector<ChartRequest> charts;
};

ChartRequest parse_chart(const std::string& word) {
  ChartRequest chart{.title = word, .names = {}};
  std::size_t start = 0;
  while (start <= word.size()) {
    const std::size_t end = std::min(word.find(',', start), word.size());
    if (end == start) throw UsageError("'" + word + "' has an empty metric between commas");
    chart.names.push_back(parse_number_name(std::string_view(word).substr(start, end - start)));
    start = end + 1;
  }
  return chart;
}

// Directories are runs; other words are metrics.
Request parse_request(const std::vector<std::string>& words) {
  Request request;
  std::error_code ignored;
  for (const std::string& word : words) {
    if (!fs::is_directory(word, ignored)) {
      request.charts.push_back(parse_chart(word));
    } else if (fs::exists(fs::path(word) / kMetricsFile, ignored)) {
      request.runs.emplace_back(word);
      for (const fs::path& evaluation : evaluations_of(word)) request.runs.push_back(evaluation);
    } else {
      throw UsageError("'" + word + "' is not a run: it has no " + kMetricsFile,
                       {.hint = "trivet ls DIR lists the runs below a directory"});
    }
  }
  if (request.runs.empty()) {
    throw UsageError(words.empty() ? "'trivet plot' takes runs, then metrics"
                                   : "none of the words is the directory of a run",
                     {.hint = "trivet plot runs/1-local accuracy"});
  }
  if (request.charts.empty()) request.charts.push_back(parse_chart(kDefaultChart));
  return request;
}

// The last part of the path; for an evaluation, prefixed with the name of its run.
std::string label_of(const fs::path& run) {
  fs::path clean = fs::absolute(run).lexically_normal();
  if (!clean.has_filename()) clean = clean.parent_path();
  const fs::path above = clean.parent_path();
  if (above.filename() != kEvaluationsDirectory) return clean.filename().string();
  return (above.parent_path().filename() / above.filename() / clean.filename()).string();
}

// The full path if two runs would have the same label.
std::vector<std::string> labels_of(const std::vector<fs::path>& runs) {
  std::vector<std::string> labels;
  std::set<std::string> distinct;
  for (const fs::path& run : runs) {
    labels.push_back(label_of(run));
    distinct.insert(labels.back());
  }
  if (distinct.size() == runs.size()) return labels;
  std::transform(runs.begin(), runs.end(), labels.begin(),
                 [](const fs::path& run) { return run.string(); });
  return labels;
}

std::vector<PlottedRun> read_runs(const Request& request) {
  const auto wanted = [&](RecordKind kind, std::string_view number) {
    return std::any_of(request.charts.begin(), request.charts.end(),
                       [&](const ChartRequest& chart) { return chart.wants(kind, number); });
  };
  const std::vector<std::string> labels = labels_of(request.runs);
  std::vector<PlottedRun> runs;
  for (std::size_t i = 0; i < request.runs.size(); ++i) {
    const fs::path& path = request.runs[i];
    runs.push_back({path, labels[i], read_metrics(path / kMetricsFile, wanted)});
    if (const std::int64_t lines = runs.back().metrics.unreadable; lines > 0) {
      std::fputs(fmt::format("warning: {}: {} {} not a record and skipped\n",
                             printable((path / kMetricsFile).string()), lines,
                             lines == 1 ? "line is" : "lines are")
                     .c_str(),
                 stderr);
    }
  }
  return runs;
}

// A metric that no run has is an error. A metric that only some runs have is not.
void check_names(const Request& request, const std::vector<PlottedRun>& runs) {
  std::vector<std::string> known;
  for (const PlottedRun& run : runs) {
    for (const MetricsSeries& series : run.metrics.series) known.push_back(series.name);
  }
  for (const ChartRequest& chart : request.charts) {
    if (chart.title == kDefaultChart) continue;
    for (const NumberName& name : chart.names) {
      const bool is_known = std::any_of(runs.begin(), runs.end(), [&](const PlottedRun& run) {
        const auto& all = run.metrics.series;
        return std::any_of(all.begin(), all.end(), [&](const MetricsSeries& series) {
          return name.fits(series.kind, series.name);
        });
      });
      if (is_known) continue;
      std::sort(known.begin(), known.end());
      known.erase(std::unique(known.begin(), known.end()), known.end());
      throw UsageError("no run or metric is named '" + name.name + "'",
                       {.hint = suggestion(name.name, known)});
    }
  }
}

// Calls `use` with every curve of a chart.
template <class Use>
void for_curves(const ChartRequest& chart, const std::vector<PlottedRun>& runs, Use&& use) {
  for (const PlottedRun& run : runs) {
    for (const MetricsSeries& series : run.metrics.series) {
      if (chart.wants(series.kind, series.name)) use(run, series);
    }
  }
}

Value json_of(const Request& request, const std::vector<PlottedRun>& runs) {
  Value rows = Value::array();
  for (const ChartRequest& chart : request.charts) {
    for_curves(chart, runs, [&](const PlottedRun& run, const MetricsSeries& series) {
      Value points = Value::array();
      for (const MetricsSeries::Point& point : series.points) {
        points.push_back(Value::array({point.step, json_number(point.value)}));
      }
      rows.push_back(Value::table({{"run", run.path.string()},
                                   {"kind", enum_name(series.kind)},
                                   {"metric", series.name},
                                   {"points", std::move(points)}}));
    });
  }
  return rows;
}

std::string chart_of(const ChartRequest& chart, const std::vector<PlottedRun>& runs,
                     const ChartStyle& style) {
  std::vector<ChartSeries> all;
  for_curves(chart, runs, [&](const PlottedRun& run, const MetricsSeries& series) {
    ChartSeries curve;
    curve.label =
        printable(fmt::format("{}  {}/{}", run.label, enum_name(series.kind), series.name));
    for (const MetricsSeries::Point& point : series.points) {
      curve.points.push_back({static_cast<double>(point.step), point.value});
    }
    if (!curve.points.empty() && std::isfinite(curve.points.back().y)) {
      curve.label += "  last " + format_number(curve.points.back().y);
    }
    all.push_back(std::move(curve));
  });
  return chart_text(printable(chart.title), all, style);
}

int chart_extent(const Arguments& arguments, std::string_view option, int otherwise) {
  return static_cast<int>(option_number(arguments, option, 1, 1000).value_or(otherwise));
}

int run_plot(std::span<const std::string> words) {
  const Arguments arguments = parse_arguments(words, kPlotOptions);
  const Terminal terminal = detect_terminal();
  // One column less than there are: a full line would wrap on some terminals.
  const int columns = terminal.style == OutputStyle::live ? terminal_columns(1) - 1 : 80;
  const ChartStyle style{.width = chart_extent(arguments, "width", columns),
                         .height = chart_extent(arguments, "height", 16),
                         .unicode = terminal.unicode,
                         .color = terminal.color,
                         .log_y = arguments.has("log")};
  const Request request = parse_request(arguments.plain());
  const std::vector<PlottedRun> runs = read_runs(request);
  check_names(request, runs);
  if (arguments.has("json")) {
    print_out(to_json(json_of(request, runs), JsonStyle::indented));
    return 0;
  }
  std::string text;
  for (const ChartRequest& chart : request.charts) {
    text += (text.empty() ? "" : "\n") + chart_of(chart, runs, style);
  }
  print_out(text);
  return 0;
}

}  // namespace

extern const CommandInfo kPlotCommand{
    .name = "plot",
    .usage = "plot RUN... [METRIC...]",
    .summary = "Draws metrics of runs as curves in the terminal",
    .details =
        "  trivet plot runs/1-local                    training_loss and validation_loss\n"
        "  trivet plot runs/* accuracy                 one chart, a curve for every run\n"
        "  trivet plot runs/1-local eval/accuracy learning_rate    two charts\n"
        "\n"
        "Directories are runs; other words are metrics of metrics.jsonl. A name means metrics\n"
        "of training and evaluation; train/NAME and eval/NAME select one of them. Commas put\n"
        "several metrics into one chart. Standalone evaluations of a run (RUN/evals/N) are\n"
        "drawn with it. Without colors, each curve has its own marker.",
    .options = kPlotOptions,
    .operand = Operand::path,
    .run = run_plot,
};

}  // namespace trivet
