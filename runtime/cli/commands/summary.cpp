// SPDX-License-Identifier: Apache-2.0
// trivet summary CONFIG [K=V ...]
#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "base/format.h"
#include "base/terminal.h"
#include "cli/command_info.h"
#include "cli/host_catalog.h"
#include "cli/view/inspection_text.h"
#include "config/config_arguments.h"
#include "trivet/config/json.h"
#include "trivet/error.h"

namespace trivet {
namespace {

constexpr OptionSpec kOwnSummaryOptions[] = {
    {.name = "json", .doc = "As JSON"},
    {.name = "abstract", .doc = kAbstractDoc},
};
constexpr auto kSummaryOptions = with_config_options(kOwnSummaryOptions);

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

int run_summary(std::span<const std::string> words) {
  const ConfigArguments given = parse_config_arguments(words, kSummaryOptions);
  HostCatalog catalog(given.plugin_dirs, UnknownDefaults::load_plugin);
  const ResolvedConfig config = resolve_config(given.request, catalog);
  const std::vector<Inspection> stages =
      inspect(config, {.abstract = given.arguments.has("abstract")});
  if (!given.arguments.has("json")) {
    print_out(report(given.source, stages));
    return 0;
  }
  Value figures = Value::table({{"config", given.source}});
  add_figures(figures, stages);
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
        "the config's mesh. A mesh of several devices is always abstract.",
    .options = kSummaryOptions,
    .operand = Operand::config,
    .run = run_summary,
};

}  // namespace trivet
