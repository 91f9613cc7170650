// SPDX-License-Identifier: Apache-2.0
// trivet launch [CONFIG] [--cfg F] [--xp F] [K=V ...]
#include <cstdio>
#include <utility>

#include <fmt/core.h>

#include "base/terminal.h"
#include "base/terminal_text.h"
#include "builtin/config_jobs.h"
#include "cli/command_info.h"
#include "cli/experiment_command.h"
#include "cli/host_catalog.h"
#include "config/config_arguments.h"
#include "launch/launcher.h"
#include "launch/unit_text.h"
#include "run/inspection.h"
#include "run/metric_uses.h"
#include "trivet/config/json.h"
#include "trivet/error.h"

namespace trivet {
namespace {

constexpr OptionSpec kOwnLaunchOptions[] = {
    {.name = "xp",
     .value = "FILE",
     .doc = "File with [xp]: jobs, sweep, directories. xp/single.toml and xp/trainer.toml are "
            "part of the program. Default for a run's config: xp/trainer.toml",
     .repeatable = true},
    {.name = "sweep",
     .value = "PATH=V1,V2",
     .doc = "Sweeps over these values: a value of the run's config, or an argument. Several make "
            "their product. Also range(1, 5), linspace(0, 1, 5), logspace(1e-4, 1e-1, 4)",
     .repeatable = true},
    {.name = "xid", .value = "N", .doc = "Adds the missing units to experiment N; same as xp.xid"},
    {.name = "root", .value = "DIR", .doc = "Same as xp.root_dir; default: TRIVET_ROOT, else runs"},
    {.name = "author", .value = "NAME", .doc = "Same as xp.author"},
    {.name = "dry-run",
     .letter = 'n',
     .doc = "Print every work unit with its directory, arguments and environment; start nothing"},
    {.name = "json", .doc = "Print JSON"},
};
constexpr auto kLaunchOptions = with_config_options(kOwnLaunchOptions);

// Trials of a misspelled objective would all fail. Other programs than runs may log any number.
void check_objectives(const ResolvedLaunch& launch, SchemaLookup& schemas) {
  if (!launch.run || !only_runs_config(launch.xp)) return;
  MetricUses uses;
  add_searched_metrics(Value::table({{"xp", launch.xp}}), schemas, uses);
  if (uses.empty()) return;
  const std::string reason = check_launched_metrics(*launch.run, uses);
  if (reason.empty()) return;
  std::fputs(
      printable("warning: the metrics that [xp] names are not checked: " + reason + "\n").c_str(),
      stderr);
}

int run_launch(std::span<const std::string> words) {
  ConfigArguments given = parse_config_arguments(words, kLaunchOptions, ConfigNeed::optional);
  const std::vector<std::string> xp_files = given.arguments.all("xp");
  if (given.source.empty() && xp_files.empty()) {
    throw UsageError("nothing to launch",
                     {.hint = "name a run's config, --cfg=FILE, or an experiment, --xp=FILE"});
  }
  for (const std::string& file : xp_files) given.request.files.emplace_back(file);
  if (xp_files.empty()) given.request.below_run = "xp/trainer.toml";
  add_override(given, "xid", "xp.xid");
  add_override(given, "author", "xp.author");
  add_override(given, "root", "xp.root_dir");
  given.plugin_dirs = absolute_folders(std::move(given.plugin_dirs));
  HostCatalog catalog(given.plugin_dirs, UnknownDefaults::load_plugin);
  Launcher launcher({.config = given.request,
                     .source = given.source.empty() ? xp_files.back() : given.source,
                     .plugin_dirs = given.plugin_dirs,
                     .sweeps = given.arguments.all("sweep")},
                    catalog);
  check_objectives(launcher.resolved(), catalog.schemas());
  const bool dry = given.arguments.has("dry-run");
  const PlannedLaunch launched = dry ? launcher.plan() : launcher.launch();
  if (given.arguments.has("json")) {
    print_out(to_json(launch_value(launched), JsonStyle::indented));
  } else {
    print_out(printable(dry ? dry_run_text(launched) : launched_text(launched)));
  }
  return 0;
}

}  // namespace

extern const CommandInfo kLaunchCommand{
    .name = "launch",
    .usage = "launch [CONFIG] [K=V ...]",
    .summary = "Starts the jobs of every work unit of an experiment",
    .details =
        "  trivet launch CONFIG --sweep trainer.learning_rate=1e-3,1e-4\n"
        "  trivet launch --cfg=CONFIG --cfg.seed=3 --xp.sweep=lr,width --xp.platform=cpu=2\n"
        "  trivet launch --xp=xp/single.toml --xp.target=./program --xp.args.steps=100\n"
        "\n"
        "trivet checks every unit's config, programs and files before it starts anything. Data is\n"
        "opened by each unit's run when it starts, and by 'trivet check CONFIG' before.\n"
        "The jobs continue after this command has ended; 'trivet status' shows their states.\n"
        "With --xid, units that the experiment already has are not changed.",
    .options = kLaunchOptions,
    .operand = Operand::config,
    .run = run_launch,
};

}  // namespace trivet
