// SPDX-License-Identifier: Apache-2.0
#include "launch/plan/job_processes.h"

#include <algorithm>
#include <optional>

#include <fmt/core.h>

#include "config/modes.h"
#include "processes/world.h"
#include "trivet/config/enums.h"

namespace trivet {
namespace {

using launch::SweepItem;

constexpr const char* kProcesses = "mesh.processes";

bool says_replicas(const launch::JobConfig& config) {
  return config.replicas.has_value() || launch::replicas_of(config) > 1;
}

// What the item sets for the run of this job; null without.
const Value* swept_value(const JobPlan& plan, const SweepItem& item, std::string_view path) {
  if (item.target != launch::SweepTarget::config) return nullptr;
  const auto found = std::find_if(item.args.begin(), item.args.end(),
                                  [&](const auto& arg) { return arg.first == path; });
  return found != item.args.end() && plan.gets(found->first) ? &found->second : nullptr;
}

// "--mode=eval" or "--mode eval" among the job's own words.
std::optional<std::string> own_mode(const JobPlan& plan) {
  constexpr std::string_view kOption = "--mode";
  std::optional<std::string> mode;
  bool is_next = false;
  for (const Argument& argument : plan.arguments) {
    const std::string word = argument_text(argument);
    if (is_next) mode = word;
    is_next = word == kOption;
    if (word.starts_with(std::string(kOption) + "=")) mode = word.substr(kOption.size() + 1);
  }
  return mode;
}

// True also for a mode that does not exist, which the run refuses.
bool has_training(const JobPlan& plan, const ResolvedLaunch& launch, const SweepItem& item) {
  std::optional<std::string> name = own_mode(plan);
  const Value* swept = swept_value(plan, item, "mode");
  if (!name && swept != nullptr && swept->is_string()) name = swept->as_string();
  if (name) {
    const std::optional<Mode> mode = enum_from_name<Mode>(*name);
    return !mode || trains(*mode);
  }
  return !launch.run || trains(launch.run->experiment.mode);
}

std::int64_t run_processes(const JobPlan& plan, const ResolvedLaunch& launch,
                           const SweepItem& item) {
  if (!has_training(plan, launch, item)) return 1;
  if (says_replicas(plan.config)) return launch::replicas_of(plan.config);
  const Value* swept = swept_value(plan, item, kProcesses);
  if (swept != nullptr && swept->is_integer()) {
    return std::max<std::int64_t>(swept->as_integer(), 1);
  }
  return launch.run ? launch.run->experiment.mesh.processes : 1;
}

bool needs_no_launcher(const std::string& engine) {
  if (engine.empty()) return false;
  const tv_collective& table = collective_engine(engine, "mesh.collective");
  return table.launcher == nullptr || table.launcher(2) == nullptr;
}

// Whether a run of several starts its processes itself.
bool starts_itself(const JobPlan& plan, const ResolvedLaunch& launch) {
  return !plan.orchestrator_starts_replicas ||
         (launch.run && needs_no_launcher(launch.run->experiment.mesh.collective));
}

}  // namespace

JobProcesses processes_of(const JobPlan& plan, const ResolvedLaunch& launch,
                          const SweepItem& item) {
  if (!is_run(plan)) return {.replicas = launch::replicas_of(plan.config)};
  const std::int64_t count = run_processes(plan, launch, item);
  if (count == 1) return {};
  if (starts_itself(plan, launch)) return {.own = count};
  return {.replicas = count};
}

void check_run_processes(const JobPlan& plan, const ResolvedLaunch& launch,
                         const std::vector<SweepItem>& items, const std::string& orchestrator,
                         Diagnostics& diagnostics) {
  const std::string path = joined_path("xp.jobs", plan.name);
  const auto refuse = [&](const std::string& field, const std::string& what,
                          const std::string& hint) {
    diagnostics.add({plan.where, path + field, what, hint});
  };
  const std::int64_t replicas = launch::replicas_of(plan.config);
  const std::int64_t said = launch.run ? launch.run->experiment.mesh.processes : 1;
  std::int64_t least = 0, most = 0;
  bool contradicts = false;
  for (const SweepItem& item : items) {
    const bool is_training = has_training(plan, launch, item);
    contradicts |= is_training && says_replicas(plan.config) && said > 1 && said != replicas;
    if (replicas > 1 && !is_training) {
      refuse(".replicas",
             fmt::format("the job '{}' has {} replicas, but an evaluation is one process",
                         plan.name, replicas),
             fmt::format("--xp.jobs.{}.replicas=1", plan.name));
      return;
    }
    if (says_replicas(plan.config) && swept_value(plan, item, kProcesses) != nullptr) {
      refuse(".replicas", "is set, but mesh.processes is swept", "remove one of them");
      return;
    }
    const std::int64_t count = run_processes(plan, launch, item);
    least = least == 0 ? count : std::min(least, count);
    most = std::max(most, count);
  }
  if (contradicts) {
    refuse(".replicas", fmt::format("is {}, but mesh.processes is {}", replicas, said),
           "remove one of them");
  }
  if (most <= 1) return;
  if (!starts_itself(plan, launch)) {
    if (least == most) return;
    refuse(".replicas",
           fmt::format("the units have {} to {} processes (mesh.processes), but {} starts the same "
                       "number for all",
                       least, most, orchestrator),
           "launch an experiment for each number");
  } else if (plan.config.nodes.value_or(1) > 1) {
    refuse(".nodes",
           fmt::format("is {}, but a run that starts its processes itself has one machine",
                       *plan.config.nodes),
           plan.orchestrator_starts_replicas ? "mesh.collective=\"\" or an engine with a launcher"
                                             : "slurm/Orchestrator starts them on several");
  }
}

}  // namespace trivet
