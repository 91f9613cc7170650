// SPDX-License-Identifier: Apache-2.0
#include "launch/plan/launch_rules.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include <fmt/core.h>

#include "launch/plan/job_processes.h"
#include "trivet/config/schema.h"
#include "trivet/error.h"

namespace trivet {

namespace fs = std::filesystem;
using launch::WorkUnit;

namespace {

// A job may name what only other launches sweep; a name that is almost one of this sweep is a typo.
void refuse_misspelled(const JobPlan& plan, const std::vector<std::string>& swept) {
  if (!plan.config.swept.is_array()) return;
  for (const Value& item : plan.config.swept.items()) {
    const std::string& name = item.as_string();
    if (std::ranges::find(swept, name) != swept.end()) continue;
    std::vector<std::string> others;
    for (const std::string& other : swept) {
      if (!plan.gets(other)) others.push_back(other);
    }
    if (nearest_names(name, others).empty()) continue;
    throw ConfigError(Diagnostic{.where = item.origin(),
                                 .path = "xp.jobs." + plan.name + ".swept",
                                 .what = "'" + name + "' is not swept",
                                 .hint = suggestion(name, others)});
  }
}

}  // namespace

void imply_sweep(ResolvedLaunch& launch) {
  if (launch.experiment.sweep_info.has_value()) return;
  const std::string key = launch.run ? "sweeps/TrainerSweep" : "sweeps/ConfigSweep";
  launch.experiment.sweep_info = {key, Value::table()};
  launch.xp.set("sweep_info", Value::table({{"type", key}}));
}

void refuse_lost_names(const SweepItems& sweep, const std::vector<JobPlan>& plans) {
  std::vector<std::string> swept;
  for (const launch::SweepItem& item : sweep.items) {
    for (const auto& arg : item.args) {
      if (std::ranges::find(swept, arg.first) == swept.end()) swept.push_back(arg.first);
    }
  }
  for (const JobPlan& plan : plans) refuse_misspelled(plan, swept);
  for (const launch::SweepItem& item : sweep.items) {
    for (const auto& arg : item.args) {
      const std::string& name = arg.first;
      if (std::any_of(plans.begin(), plans.end(),
                      [&](const JobPlan& plan) { return plan.gets(name); })) {
        continue;
      }
      throw ConfigError(Diagnostic{.path = "xp.jobs",
                                   .what = "'" + name + "' is swept, but no job takes it",
                                   .hint = "add it to the `swept` of a job"});
    }
  }
}

void refuse_replicas(const std::vector<JobPlan>& plans, const ResolvedLaunch& launch,
                     const std::vector<launch::SweepItem>& items) {
  const std::string orchestrator(launch.experiment.orchestrator.key());
  Diagnostics diagnostics;
  for (const JobPlan& plan : plans) {
    const launch::JobConfig& config = plan.config;
    const launch::Platform platform =
        launch::parse_platform(config.platform.value_or("")).value_or(launch::Platform());
    const IntegerRange range = launch::replicas_of(config);
    const std::int64_t replicas = range.last;
    const JobProcesses processes =
        processes_of(plan, launch, items.empty() ? launch::SweepItem() : items.front());
    const std::string path = joined_path("xp.jobs", plan.name);
    const auto refuse = [&](const std::string& field, const std::string& what,
                            const std::string& hint) {
      diagnostics.add({plan.where, path + field, what, hint});
    };
    if (platform.replicas > 1 && platform.replicas != replicas) {
      refuse(".replicas",
             fmt::format("is {}, but the platform '{}' has {}", to_string(range), *config.platform,
                         platform.replicas),
             "remove one of them");
    }
    if (is_run(plan)) check_run_processes(plan, launch, items, orchestrator, diagnostics);
    const std::int64_t nodes = config.nodes.value_or(processes.replicas);
    if (processes.own == 1 && processes.replicas % nodes != 0) {
      refuse(".nodes",
             fmt::format("{} replicas do not fit on {} nodes, the same number on each",
                         processes.replicas, nodes),
             "nodes divides replicas");
    }
    if (!is_run(plan) && !range.is_number()) {
      refuse(
          ".replicas",
          fmt::format("is {}, but the job '{}' is not a run of trivet, which may have any number "
                      "of processes in a range",
                      to_string(range), plan.name),
          "name one number");
      continue;
    }
    if (!is_run(plan) && replicas > 1 && !plan.orchestrator_starts_replicas) {
      refuse(".replicas",
             fmt::format("the job '{}' has {} replicas, but {} starts one process of a job",
                         plan.name, replicas, orchestrator),
             "slurm/Orchestrator starts replicas");
    }
  }
  diagnostics.throw_if_any();
}

void refuse_shared_directories(const std::vector<WorkUnit>& units,
                               const std::vector<WorkUnit>& there) {
  std::map<fs::path, std::int64_t> taken;
  const auto take = [&](const WorkUnit& unit) {
    const auto [found, fresh] = taken.emplace(unit.directory, unit.wid);
    if (fresh) return;
    throw ConfigError(
        Diagnostic{.path = "xp.subdir_format.wu_dirname",
                   .what = fmt::format("work units {} and {} would share the directory {}",
                                       found->second, unit.wid, unit.directory.string()),
                   .hint = "include {wid} in the name"});
  };
  for (const WorkUnit& unit : there) take(unit);
  for (const WorkUnit& unit : units) take(unit);
}

}  // namespace trivet
