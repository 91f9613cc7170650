// SPDX-License-Identifier: Apache-2.0
#include "launch/plan/launch_rules.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include <fmt/core.h>

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
    for (const auto& swept : item.args) {
      const std::string& name = swept.first;
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
