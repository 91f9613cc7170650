// SPDX-License-Identifier: Apache-2.0
// trivet check CONFIG [K=V ...]
#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "base/terminal.h"
#include "builtin/config_jobs.h"
#include "cli/command_info.h"
#include "cli/host_catalog.h"
#include "cli/view/inspection_text.h"
#include "config/config_arguments.h"
#include "config/run_rules.h"
#include "run/metric_uses.h"
#include "trivet/config/json.h"
#include "trivet/error.h"

namespace trivet {
namespace {

constexpr OptionSpec kOwnCheckOptions[] = {
    {.name = "json", .doc = "As JSON"},
    {.name = "abstract", .doc = kAbstractDoc},
};
constexpr auto kCheckOptions = with_config_options(kOwnCheckOptions);

std::string named_line(std::string_view name, const std::string& text) {
  return fmt::format("  {:<10} {}\n", name, text);
}

std::string initial_loss_text(const Inspection& seen) {
  const std::string loss = fmt::format("{:.4g} over {} examples", seen.initial_loss, seen.examples);
  if (!seen.expected_loss) return loss + "; the task gives no expected loss";
  const ExpectedInitialLoss::Range& range = *seen.expected_loss;
  return fmt::format("{}; plausible between {:.2f} and {:.2f}: {}", loss, range.low, range.high,
                     range.reason);
}

std::string gradients_text(const Inspection& seen) {
  std::size_t trainable = 0, reached = 0;
  for (const Inspection::Weights& weights : seen.weights) {
    trainable += weights.trainable ? 1 : 0;
    reached += weights.trainable && weights.has_gradient ? 1 : 0;
  }
  return fmt::format("reach {} of {} trainable tensors", reached, trainable);
}

std::string eval_text(const Inspection& seen) {
  std::string text = "one batch:";
  for (const auto& [name, value] : seen.eval_logs) text += fmt::format(" {}={:.4g}", name, value);
  return text;
}

std::string checked_stage_text(const Inspection& seen) {
  const std::string title = stage_title(seen);
  std::string text = (title.empty() ? "" : title + "\n") + named_line("model", model_text(seen));
  if (seen.trained) {
    if (!seen.abstract) text += named_line("initial loss", initial_loss_text(seen));
    text += named_line("gradients", gradients_text(seen));
  }
  for (const NamedText& entry : work_lines(seen)) text += named_line(entry.name, entry.text);
  if (seen.evaluated) text += named_line("eval", eval_text(seen));
  for (const NamedText& entry : memory_lines(seen)) text += named_line(entry.name, entry.text);
  return text;
}

// The number of names in a message; the others are counted.
constexpr std::size_t kMostNames = 8;

std::string names_of(const std::vector<std::string>& paths) {
  std::string text;
  for (std::size_t i = 0; i < std::min(paths.size(), kMostNames); ++i) {
    text += (i > 0 ? ", " : "") + paths[i];
  }
  if (paths.size() > kMostNames) text += fmt::format(" and {} more", paths.size() - kMostNames);
  return text;
}

// One line each.
std::vector<std::string> faults(const Inspection& inspection) {
  std::vector<std::string> found;
  std::vector<std::string> dead;
  for (const Inspection::Weights& weights : inspection.weights) {
    if (!weights.has_gradient) dead.push_back(weights.path);
  }
  if (!dead.empty()) {
    found.push_back(fmt::format("no gradient reaches {}: training leaves {} as {}", names_of(dead),
                                dead.size() == 1 ? "it" : "them",
                                dead.size() == 1 ? "it is" : "they are"));
  }
  if (!inspection.trained || !inspection.expected_loss) return found;
  const ExpectedInitialLoss::Range& range = *inspection.expected_loss;
  if (!(inspection.initial_loss >= range.low && inspection.initial_loss <= range.high)) {
    found.push_back(fmt::format(
        "the initial loss {:.4g} is not between {:.2f} and {:.2f}, the range expected for "
        "untrained weights ({})",
        inspection.initial_loss, range.low, range.high, range.reason));
  }
  return found;
}

// The faults of all stages, each prefixed with the name of its stage.
std::vector<std::string> all_faults(const std::vector<Inspection>& stages) {
  std::vector<std::string> found;
  for (const Inspection& seen : stages) {
    const std::string title = stage_title(seen);
    for (const std::string& fault : faults(seen)) {
      found.push_back((title.empty() ? "" : title + ": ") + fault);
    }
  }
  return found;
}

std::string report(const std::string& source, const std::vector<Inspection>& stages,
                   const std::vector<std::string>& found) {
  std::string text = source + "\n";
  for (const Inspection& seen : stages) text += checked_stage_text(seen);
  for (const std::string& fault : found) text += "problem: " + fault + "\n";
  return text + (found.empty() ? "ok\n" : "");
}

std::string json_report(const std::string& source, const std::vector<Inspection>& stages,
                        const std::vector<std::string>& found) {
  Value diagnostics = Value::array_of(found);
  Value figures = Value::table(
      {{"config", source}, {"ok", found.empty()}, {"problems", std::move(diagnostics)}});
  add_figures(figures, stages);
  return to_json(figures, JsonStyle::indented);
}

// Checks a search only if its trials run this config: other programs may log any metric.
MetricUses metrics_of(const ResolvedConfig& config, SchemaLookup& schemas) {
  MetricUses uses = metric_uses(config.tree, schemas);
  const Value* xp = config.tree.find("xp");
  if (xp != nullptr && only_runs_config(*xp)) add_searched_metrics(config.tree, schemas, uses);
  return uses;
}

int run_check(std::span<const std::string> words) {
  const ConfigArguments given = parse_config_arguments(words, kCheckOptions);
  HostCatalog catalog(given.plugin_dirs, UnknownDefaults::load_plugin);
  const ResolvedConfig config = resolve_config(given.request, catalog);
  check_run(config);
  const MetricUses metrics = metrics_of(config, catalog.schemas());
  const std::vector<Inspection> stages =
      inspect(config, {.abstract = given.arguments.has("abstract"), .metrics = metrics});
  check_metric_names(metrics, stages);
  const std::vector<std::string> found = all_faults(stages);
  print_out(given.arguments.has("json") ? json_report(given.source, stages, found)
                                        : report(given.source, stages, found));
  return found.empty() ? 0 : 1;
}

}  // namespace

extern const CommandInfo kCheckCommand{
    .name = "check",
    .usage = "check CONFIG [K=V ...]",
    .summary = "Validates a config: builds everything, runs two steps, writes nothing",
    .details =
        "Finds weights that no gradient reaches, and an initial loss outside the range expected\n"
        "for untrained weights (about ln(classes) for a classifier). Prints the memory that a\n"
        "run needs; for training in stages, that of each stage. Metrics that the config names,\n"
        "such as the objective of a search, must be among those that the run logs. The exit\n"
        "code is 1 if something is wrong with the model, 2 if something is wrong with the\n"
        "config.\n"
        "\n"
        "With --abstract (see trivet help summary) the check traces gradients and counts\n"
        "memory, but computes no loss. A mesh of several devices is always abstract.",
    .options = kCheckOptions,
    .operand = Operand::config,
    .run = run_check,
};

}  // namespace trivet
