// SPDX-License-Identifier: Apache-2.0
#include "launch/plan/job_processes.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "config/modes.h"
#include "processes/world.h"
#include "trivet/backend/mesh_layout.h"
#include "trivet/config/enums.h"

namespace trivet {
namespace {

using launch::SweepItem;

constexpr const char* kProcesses = "mesh.processes";

bool says_replicas(const launch::JobConfig& config) {
  return config.replicas.has_value() || launch::replicas_of(config).last > 1;
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

std::vector<std::int64_t> counts_of(const IntegerRange& range, const ResolvedLaunch& launch) {
  if (!launch.run) return {};
  return counts_in(range, launch.run->experiment.mesh);
}

std::int64_t run_processes(const JobPlan& plan, const ResolvedLaunch& launch,
                           const SweepItem& item) {
  if (!has_training(plan, launch, item)) return 1;
  if (const IntegerRange range = launch::replicas_of(plan.config); !range.is_number()) {
    const std::vector<std::int64_t> counts = counts_of(range, launch);
    return counts.empty() ? 1 : counts.back();
  }
  if (says_replicas(plan.config)) return launch::replicas_of(plan.config).last;
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

struct RangeProblem {
  std::string field, what, hint;  // `what` follows the range
};

// Where the replicas of a run are a range.
std::optional<RangeProblem> range_problem(const JobPlan& plan, const ResolvedLaunch& launch,
                                          const std::vector<SweepItem>& items,
                                          const std::string& orchestrator) {
  const IntegerRange range = launch::replicas_of(plan.config);
  const auto wrong = [](std::string what, std::string hint) {
    return RangeProblem{".replicas", "is " + std::move(what), std::move(hint)};
  };
  const std::string said = to_string(range);
  if (!launch.run) {
    return wrong(said + ", but the launch does not know the mesh of the run",
                 "name the config for the launch: --cfg=FILE");
  }
  const MeshConfig& mesh = launch.run->experiment.mesh;
  for (const SweepItem& item : items) {
    if (item.target != launch::SweepTarget::config) continue;
    for (const auto& arg : item.args) {
      if (!arg.first.starts_with("mesh.") || !plan.gets(arg.first)) continue;
      return wrong(fmt::format("{}, but {} is swept", said, arg.first),
                   "remove one of them, or launch an experiment for each mesh");
    }
  }
  if (mesh.processes > 1) {
    return wrong(fmt::format("{}, but mesh.processes is {}", said, mesh.processes),
                 "remove one of them");
  }
  if (mesh.devices() == 1) {
    return wrong(said + ", but the mesh of the run has one device, which one process has",
                 "set mesh.ici_mesh_shape, or remove it");
  }
  const std::vector<std::int64_t> counts = counts_in(range, mesh);
  if (counts.empty()) {
    return wrong(fmt::format("{}; this mesh of {} devices can be shared by {}", said,
                             mesh.devices(), fmt::join(MeshLayout(mesh).process_counts(), ", ")),
                 "a range with one of these numbers");
  }
  if (counts.size() == 1 || !plan.orchestrator_starts_replicas) return std::nullopt;
  if (starts_itself(plan, launch)) {
    return wrong(fmt::format("{}, but a run with {} starts its processes itself, and {} gives it "
                             "the cores of one number",
                             said, mesh.collective, orchestrator),
                 fmt::format("mesh.collective=\"\", or one number: {}", counts.back()));
  }
  const std::int64_t nodes = plan.config.nodes.value_or(counts.back());
  if (counts.back() % nodes != 0) return std::nullopt;
  const std::int64_t on_node = counts.back() / nodes;
  if ((counts.front() + on_node - 1) / on_node < nodes) return std::nullopt;
  return RangeProblem{
      ".nodes",
      fmt::format("is {}, so that {} processes need all machines that {} need, and {} varies the "
                  "number of machines",
                  nodes, counts.front(), counts.back(), orchestrator),
      fmt::format("more nodes, or --xp.jobs.{}.replicas={}", plan.name, counts.back())};
}

}  // namespace

JobProcesses processes_of(const JobPlan& plan, const ResolvedLaunch& launch,
                          const SweepItem& item) {
  const IntegerRange range = launch::replicas_of(plan.config);
  if (!is_run(plan)) return {.replicas = range.last};
  const std::int64_t count = run_processes(plan, launch, item);
  if (count == 1) return {};
  JobProcesses processes =
      starts_itself(plan, launch) ? JobProcesses{.own = count} : JobProcesses{.replicas = count};
  if (!range.is_number()) processes.counts = counts_of(range, launch);
  if (processes.counts.size() == 1) processes.counts.clear();
  return processes;
}

std::vector<std::int64_t> counts_in(const IntegerRange& range, const MeshConfig& mesh) {
  std::vector<std::int64_t> counts = MeshLayout(mesh).process_counts();
  std::erase_if(counts, [&](std::int64_t count) { return !range.contains(count); });
  return counts;
}

void check_run_processes(const JobPlan& plan, const ResolvedLaunch& launch,
                         const std::vector<SweepItem>& items, const std::string& orchestrator,
                         Diagnostics& diagnostics) {
  const std::string path = joined_path("xp.jobs", plan.name);
  const auto refuse = [&](const std::string& field, const std::string& what,
                          const std::string& hint) {
    diagnostics.add({plan.where, path + field, what, hint});
  };
  const IntegerRange range = launch::replicas_of(plan.config);
  const bool is_any_training = std::ranges::any_of(
      items, [&](const SweepItem& item) { return has_training(plan, launch, item); });
  if (!range.is_number() && (is_any_training || items.empty())) {
    if (const auto problem = range_problem(plan, launch, items, orchestrator)) {
      refuse(problem->field, problem->what, problem->hint);
      return;
    }
  }
  const std::int64_t replicas = range.last;
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
    refuse(".replicas", fmt::format("is {}, but mesh.processes is {}", to_string(range), said),
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
