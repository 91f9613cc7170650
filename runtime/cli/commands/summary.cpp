// SPDX-License-Identifier: Apache-2.0
// trivet summary CONFIG [--on-paper --network LATENCY,BANDWIDTH] [K=V ...]
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "base/format.h"
#include "base/terminal.h"
#include "cli/command_info.h"
#include "cli/host_catalog.h"
#include "cli/step_prediction_text.h"
#include "cli/view/inspection_text.h"
#include "config/config_arguments.h"
#include "trivet/config/json.h"
#include "trivet/error.h"

namespace trivet {
namespace {

constexpr OptionSpec kOwnSummaryOptions[] = {
    {.name = "json", .doc = "As JSON"},
    {.name = "abstract", .doc = kAbstractDoc},
    {.name = "on-paper", .doc = "Predict the time of a step on meshes of 8 to 4,096 devices"},
    {.name = "network",
     .value = "L,B",
     .doc = "Latency and bandwidth for --on-paper, such as 5us,10GB/s"},
    {.name = "dcn-network",
     .value = "L,B",
     .doc = "Latency and bandwidth between slices, such as 50us,1GB/s; default: --network"},
    {.name = "device-flops",
     .value = "RATE",
     .doc = "Speed of a process for --on-paper, such as 120TFLOP/s; default: the peak"},
};
constexpr auto kSummaryOptions = with_config_options(kOwnSummaryOptions);

constexpr std::int64_t kDevicesOnPaper[] = {8, 64, 512, 4096};

using Row = std::array<std::string, 5>;

Row layer_row(const LayerTrace::Entry& layer, std::int64_t parameters) {
  const bool called = layer.calls > 0;
  return {layer.path, layer.type(), called ? layer.output : "(inside the previous layer)",
          format_count(static_cast<std::uint64_t>(parameters)),
          called ? format_flops(layer.flops) : ""};
}

// Columns have their minimum width; numbers are right-aligned.
std::string table_text(const std::vector<Row>& rows) {
  std::array<std::size_t, 5> widths{};
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += i < 3 ? fmt::format("{:<{}}  ", row[i], widths[i])
                    : fmt::format("{:>{}}  ", row[i], widths[i]);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::string line(const std::string& name, const std::string& text) {
  return fmt::format("{:<8}{}\n", name, text);
}

std::string stage_text(const Inspection& seen) {
  std::vector<Row> rows = {{"layer", "type", "output", "parameters", "FLOPs"}};
  const std::map<std::string, std::int64_t> counts = parameters_of_layers(seen);
  for (const LayerTrace::Entry& layer : seen.layers) {
    rows.push_back(layer_row(layer, counts.at(layer.path)));
  }
  if (const auto rest = counts.find(""); rest != counts.end() && rest->second > 0) {
    rows.push_back(
        {"(others)", "", "", format_count(static_cast<std::uint64_t>(rest->second)), ""});
  }
  const std::string title = stage_title(seen);
  std::string text = (title.empty() ? "" : title + "\n") + table_text(rows) + "\n" +
                     line("model", model_text(seen));
  for (const auto& lines : {work_lines(seen), memory_lines(seen)}) {
    for (const NamedText& entry : lines) text += line(entry.name, entry.text);
  }
  return text;
}

std::string report(const std::string& source, const std::vector<Inspection>& stages) {
  std::string text = source + "\n";
  for (const Inspection& seen : stages) text += (seen.stage > 0 ? "\n" : "") + stage_text(seen);
  return text;
}

// Network and speed that --on-paper has.
struct OnPaper {
  Networks networks;
  double flop_rate = 0;  // 0: the peak of the device
};

std::optional<OnPaper> on_paper(const Arguments& arguments) {
  const std::string* network = arguments.last("network");
  const std::string* between = arguments.last("dcn-network");
  const std::string* rate = arguments.last("device-flops");
  if (!arguments.has("on-paper")) {
    if (network != nullptr) throw UsageError("--network goes with --on-paper");
    if (between != nullptr) throw UsageError("--dcn-network goes with --on-paper");
    if (rate != nullptr) throw UsageError("--device-flops goes with --on-paper");
    return std::nullopt;
  }
  if (network == nullptr) {
    throw UsageError("--on-paper needs --network",
                     {.hint = "--network 5us,10GB/s is a latency and a bandwidth"});
  }
  const Network within = parse_network("network", *network);
  return OnPaper{
      .networks = {.within = within,
                   .between = between == nullptr ? within : parse_network("dcn-network", *between)},
      .flop_rate = rate != nullptr ? parse_flop_rate("device-flops", *rate) : 0};
}

PredictedSteps predicted_steps(const OnPaper& paper, const ConfigRequest& request,
                               ConfigCatalog& catalog, const std::vector<Inspection>& stages) {
  const bool is_given = paper.flop_rate > 0;
  PredictedSteps steps{.networks = paper.networks,
                       .flop_rate = is_given ? paper.flop_rate : stages.front().peak_flops,
                       .rate_source = is_given ? "--device-flops" : "the peak of a device"};
  if (steps.flop_rate <= 0) {
    throw UsageError("--on-paper needs --device-flops: the peak of the device is unknown",
                     {.hint = "or set runtime.peak_flops"});
  }
  steps.rows =
      predict_steps(request, catalog, stages, kDevicesOnPaper, steps.networks, steps.flop_rate);
  return steps;
}

int run_summary(std::span<const std::string> words) {
  const ConfigArguments given = parse_config_arguments(words, kSummaryOptions);
  const std::optional<OnPaper> paper = on_paper(given.arguments);
  HostCatalog catalog(given.plugin_dirs, UnknownDefaults::load_plugin);
  const ResolvedConfig config = resolve_config(given.request, catalog);
  const std::vector<Inspection> stages =
      inspect(config, {.abstract = paper || given.arguments.has("abstract")});
  std::optional<PredictedSteps> steps;
  if (paper) steps = predicted_steps(*paper, given.request, catalog, stages);
  if (!given.arguments.has("json")) {
    print_out(report(given.source, stages) + (steps ? "\n" + prediction_text(*steps) : ""));
    return 0;
  }
  Value figures = Value::table({{"config", given.source}});
  add_figures(figures, stages);
  if (steps) figures.set("on_paper", prediction_row(*steps));
  print_out(to_json(figures, JsonStyle::indented));
  return 0;
}

}  // namespace

extern const CommandInfo kSummaryCommand{
    .name = "summary",
    .usage = "summary CONFIG [K=V ...]",
    .summary = "Prints a config's model: layers, shapes, parameters, FLOPs, memory",
    .details =
        "Builds the model and runs two steps, so the figures are those of a run with this batch\n"
        "size. FLOPs are those of one step, forward and backward, including nested layers. A\n"
        "training in stages has a table for each stage. Nothing is written.\n"
        "\n"
        "--abstract computes nothing and allocates no tensors, so any model fits. Shapes and\n"
        "FLOPs are those of a device's share of the batch; memory is the need of each device of\n"
        "the config's mesh. A mesh of several devices is always abstract.\n"
        "\n"
        "--on-paper predicts the time of a training step, the exposed time of exchanges and the\n"
        "memory of each process, for the config's mesh and for meshes of 8, 64, 512 and 4,096\n"
        "devices with its extent of mdl. See docs/many-processes.md for the formulas. 'trivet\n"
        "doctor --collective KEY' measures a network.",
    .options = kSummaryOptions,
    .operand = Operand::config,
    .run = run_summary,
};

}  // namespace trivet
