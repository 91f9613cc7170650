// SPDX-License-Identifier: Apache-2.0
#include "launch/plan/launch_plan.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include <fmt/core.h>

#include "config/run_rules.h"
#include "launch/plan/launch_rules.h"
#include "launch/plan/unit_builder.h"
#include "launch/store/disk_records.h"
#include "trivet/error.h"
#include "trivet/launch/orchestrator.h"
#include "trivet/plugin/registry.h"

namespace trivet {
namespace {

namespace fs = std::filesystem;

std::string user_name() {
  if (const passwd* entry = ::getpwuid(::getuid())) return entry->pw_name;
  const char* name = std::getenv("USER");
  return name != nullptr && *name != '\0' ? name : "unknown";
}

bool sweeps_as_recorded(const LaunchRequest& request) {
  return !request.recorded_sweeps.empty() && request.sweeps.empty() &&
         std::none_of(request.config.overrides.begin(), request.config.overrides.end(),
                      [](const Override& given) { return given.text.starts_with("xp.sweep="); });
}

void resolve_as(const ConfigRequest& told, const LaunchRequest& request, ConfigCatalog& catalog,
                LaunchPlan& plan) {
  plan.launch = resolve_launch(told, catalog);
  plan.jobs = plan_jobs(plan.launch, plan.files);
  plan.sweeps = sweeps_as_recorded(request)
                    ? request.recorded_sweeps
                    : std::vector{RequestedSweep{plan.launch.experiment.sweep, request.sweeps}};
  const bool has_options = std::any_of(plan.sweeps.begin(), plan.sweeps.end(),
                                       [](const auto& sweep) { return !sweep.options.empty(); });
  if (has_options) imply_sweep(plan.launch);
  plan.sweep = sweep_items(plan.launch, plan.sweeps);
}

void resolve(const LaunchRequest& request, ConfigCatalog& catalog, LaunchPlan& plan) {
  std::vector<std::string> options = request.sweeps;
  if (sweeps_as_recorded(request)) {
    for (const RequestedSweep& sweep : request.recorded_sweeps) {
      options.insert(options.end(), sweep.options.begin(), sweep.options.end());
    }
  }
  const ConfigRequest base = without_swept(request.config, options);
  resolve_as(base, request, catalog, plan);
  // If --sweep varies arguments, the config that all units share has every override.
  const bool is_left_out = base.overrides.size() != request.config.overrides.size();
  if (is_left_out && !vary_config(plan.sweep.items)) {
    resolve_as(request.config, request, catalog, plan);
  }
}

// If the orchestrator generates the units, the launch has no units and no sweep.
void ask_for_units(LaunchPlan& plan) {
  const launch::Experiment& experiment = plan.launch.experiment;
  const launch::Orchestrator& orchestrator = *plan.asked->orchestrator;
  plan.makes_units = orchestrator.makes_units();
  if (!plan.makes_units) return;
  plan.intent = orchestrator.intent();
  const bool is_swept = plan.sweep.items.size() != 1 || !plan.sweep.items.front().args.empty();
  if (is_swept || experiment.repeats > 1) {
    const std::string path = is_swept ? "xp.sweep" : "xp.repeats";
    throw ConfigError(Diagnostic{.where = {},
                                 .path = path,
                                 .what = fmt::format("{} is set, but {} generates the work units",
                                                     path, experiment.orchestrator.key()),
                                 .hint = is_swept
                                             ? "set xp.sweep to false, or use another orchestrator"
                                             : "remove it, or use another orchestrator"});
  }
  plan.sweep.items.clear();
}

void refuse_too_many(const LaunchPlan& plan) {
  const auto repeats = static_cast<std::size_t>(plan.launch.experiment.repeats);
  const std::size_t units = plan.sweep.items.size() * repeats;
  if (units <= launch::kMostUnits) return;
  const Value* at = plan.launch.xp.find("repeats");
  throw ConfigError(
      Diagnostic{.where = at != nullptr ? at->origin() : Origin(),
                 .path = "xp.repeats",
                 .what = fmt::format("{} items {} times make {} work units, more than {}",
                                     plan.sweep.items.size(), repeats, units, launch::kMostUnits),
                 .hint = "launch several experiments"});
}

void ask_orchestrator(LaunchPlan& plan) {
  plan.asked = std::make_unique<AskedOrchestrator>(plan.launch.experiment, plan.root);
  const launch::Orchestrator& orchestrator = *plan.asked->orchestrator;
  ask_about_jobs(plan.jobs, orchestrator);
  refuse_lost_names(plan.sweep, plan.jobs);
  refuse_replicas(plan.jobs, plan.launch, plan.sweep.items);
  ask_for_units(plan);
}

}  // namespace

AskedOrchestrator::AskedOrchestrator(const launch::Experiment& experiment, const fs::path& root)
    : records(root),
      context{root, records, [] {}},
      orchestrator(make(experiment.orchestrator, context)) {}

LaunchPlan plan_launch(const LaunchRequest& request, ConfigCatalog& catalog) {
  LaunchPlan plan;
  resolve(request, catalog, plan);
  const launch::Experiment& experiment = plan.launch.experiment;
  if (plan.launch.run && !vary_config(plan.sweep.items)) check_run(*plan.launch.run);
  plan.name = experiment.name;
  if (plan.name.empty()) plan.name = fs::path(request.source).stem().string();
  plan.author = experiment.author.empty() ? user_name() : experiment.author;
  plan.root = root_directory(experiment, plan.name, plan.author, plan.main_cell());
  // Completes the record.
  if (experiment.root_dir.empty()) plan.launch.xp.set("root_dir", plan.root.string());
  if (experiment.name.empty()) plan.launch.xp.set("name", plan.name);
  ask_orchestrator(plan);
  refuse_too_many(plan);
  if (plan.launch.run) {
    const bool varied = plan.makes_units || vary_config(plan.sweep.items);
    plan.config = unit_config(plan.launch, request.config.overrides,
                              varied ? Units::varied : Units::alike, plan.sweep.items);
  }
  return plan;
}

}  // namespace trivet
