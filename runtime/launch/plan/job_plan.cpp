// SPDX-License-Identifier: Apache-2.0
#include "launch/plan/job_plan.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/core.h>

#include "launch/plan/job_layers.h"
#include "trivet/config.h"
#include "trivet/launch/jobs_provider.h"
#include "trivet/plugin/registry.h"

namespace trivet {
namespace {

namespace fs = std::filesystem;
using launch::JobConfig;
using launch::JobParams;

// Keeps only fields that are set: null is unset. Encoded jobs and filled tables have every field.
Value without_nulls(const Value& job) {
  Value kept = Value::table();
  for (const Value::Member& member : job.members()) {
    if (!member.value.is_null()) kept.set(member.key, member.value);
  }
  return kept;
}

class Planner {
 public:
  Planner(const ResolvedLaunch& launch, LaunchFiles& files) : launch_(launch), files_(files) {}

  std::vector<JobPlan> plan() {
    collect();
    if (jobs_.empty()) {
      diagnostics_.add({launch_.xp.origin(), "xp.jobs", "no job to launch",
                        "add [xp.jobs.NAME] with a target, or launch a run's config"});
      diagnostics_.throw_if_any();
    }
    std::vector<JobPlan> plans;
    for (const auto& [name, job] : jobs_) plans.push_back(plan_of(name, job));
    check_dependencies(plans);
    diagnostics_.throw_if_any();
    return plans;
  }

 private:
  using NamedJobs = std::vector<std::pair<std::string, Value>>;

  void collect() {
    const Value run = launch_.run ? launch_.run->tree : Value();
    if (launch_.experiment.jobs_provider.has_value()) {
      const std::unique_ptr<launch::JobsProvider> provider = make(launch_.experiment.jobs_provider);
      for (const auto& [name, job] : provider->jobs(run)) {
        jobs_.emplace_back(name, without_nulls(encode(job)));
      }
    }
    const Value* own = launch_.xp.find("jobs");
    if (own == nullptr || !own->is_table()) return;
    for (const Value::Member& member : own->members()) {
      const auto found = std::find_if(jobs_.begin(), jobs_.end(),
                                      [&](const auto& job) { return job.first == member.key; });
      if (found == jobs_.end()) {
        jobs_.emplace_back(member.key, without_nulls(member.value));
      } else {
        lay_over(found->second, without_nulls(member.value));
      }
    }
  }

  JobPlan plan_of(const std::string& name, const Value& job) {
    const std::string path = joined_path("xp.jobs", name);
    const Value all = for_all_jobs();
    refuse_hidden_options(name, all, job);
    const Value merged = with_fallback(all, job);
    JobPlan plan{.name = name,
                 .where = location_of(name),
                 .config = decode<JobConfig>(merged, path),
                 .arguments = {},
                 .after = {},
                 .program = {},
                 .files = {},
                 .orchestrator_gives = {}};
    if (const Value* args = merged.find("args")) plan.arguments = arguments_of(*args);
    for (const std::string& text : plan.config.after.value_or(std::vector<std::string>())) {
      if (const auto dependency = launch::parse_dependency(text)) plan.after.push_back(*dependency);
    }
    find_program(plan, path + ".target");
    take_files(plan, path);
    return plan;
  }

  void find_program(JobPlan& plan, const std::string& path) {
    const std::string& name = plan.name;
    if (plan.config.target.value_or("").empty()) {
      const std::string near = suggestion(name, other_names(name));
      diagnostics_.add({plan.where, path, "job '" + name + "' has no target",
                        near.empty() ? "name the program: --" + path + "=/path/to/program" : near});
      return;
    }
    try {
      plan.program = find_job_program(plan.config, launch_.experiment.snapshot, files_, path);
    } catch (const ConfigError& error) {
      for (Diagnostic problem : error.diagnostics()) {
        problem.where = plan.where;
        diagnostics_.add(std::move(problem));
      }
    }
  }

  Value for_all_jobs() const {
    Value fields = Value::table();
    for (const Field& field : schema_of<JobParams>().fields) {
      const Value* value = launch_.xp.find(field.name);
      if (value != nullptr && !value->is_null()) fields.set(field.name, *value);
    }
    return fields;
  }

  // A file must not silently override an option of the command line.
  void refuse_hidden_options(const std::string& name, const Value& all, const Value& job) {
    for (const HiddenValue& hidden : hidden_options(all, job)) {
      const Origin& where = hidden.by->origin();
      diagnostics_.add({hidden.hidden->origin(), "xp." + hidden.path,
                        fmt::format("the job '{}' has its own {}{}", name, hidden.path,
                                    where.known() ? " (" + to_string(where) + ")" : ""),
                        fmt::format("change that one: --xp.jobs.{}.{}=...", name, hidden.path)});
    }
  }

  // The location of [xp.jobs.NAME], or of the provider for its jobs.
  Origin location_of(const std::string& name) const {
    const Value* own = launch_.xp.find("jobs");
    if (own != nullptr && own->is_table()) {
      for (const Value::Member& member : own->members()) {
        if (member.key != name) continue;
        return member.key_origin.known() ? member.key_origin : member.value.origin();
      }
    }
    const Value* provider = launch_.xp.find("jobs_provider");
    return provider != nullptr ? provider->origin() : launch_.xp.origin();
  }

  std::vector<std::string> other_names(const std::string& name) const {
    std::vector<std::string> names;
    for (const auto& entry : jobs_) {
      if (entry.first != name) names.push_back(entry.first);
    }
    return names;
  }

  void take_files(JobPlan& plan, const std::string& path) {
    for (const auto& [name, file] : plan.config.files) {
      std::error_code error;
      if (fs::exists(files_.content(file.text), error)) {
        plan.files[name] = files_.take(file.text, LaunchFiles::Use::copy);
        continue;
      }
      diagnostics_.add({plan.where,
                        joined_path(path + ".files", name),
                        "no such file: '" + file.text + "'",
                        {}});
    }
  }

  void check_dependencies(const std::vector<JobPlan>& plans) {
    std::map<std::string, const JobPlan*> by_name;
    std::vector<std::string> names;
    for (const JobPlan& plan : plans) {
      by_name[plan.name] = &plan;
      names.push_back(plan.name);
    }
    for (const JobPlan& plan : plans) {
      for (const launch::Dependency& dependency : plan.after) {
        if (by_name.count(dependency.job) != 0) continue;
        diagnostics_.add({plan.where, joined_path("xp.jobs", plan.name) + ".after",
                          "unknown job '" + dependency.job + "'",
                          suggestion(dependency.job, names)});
        return;
      }
    }
    std::set<std::string> done;
    for (const JobPlan& plan : plans) {
      std::vector<std::string> chain;
      if (!follow(plan, by_name, chain, done)) return;
    }
  }

  // Depth first through `after`; false once a cycle has been reported.
  bool follow(const JobPlan& plan, const std::map<std::string, const JobPlan*>& by_name,
              std::vector<std::string>& chain, std::set<std::string>& done) {
    if (done.count(plan.name) != 0) return true;
    const auto first = std::find(chain.begin(), chain.end(), plan.name);
    chain.push_back(plan.name);
    if (first != chain.end() - 1 && std::count(chain.begin(), chain.end(), plan.name) > 1) {
      std::string text;
      const auto start = std::find(chain.begin(), chain.end(), plan.name);
      for (auto link = start; link != chain.end(); ++link) {
        text += (link == start ? "" : " -> ") + *link;
      }
      diagnostics_.add({plan.where,
                        joined_path("xp.jobs", plan.name) + ".after",
                        "jobs wait for each other: " + text,
                        {}});
      return false;
    }
    for (const launch::Dependency& dependency : plan.after) {
      if (!follow(*by_name.at(dependency.job), by_name, chain, done)) return false;
    }
    chain.pop_back();
    done.insert(plan.name);
    return true;
  }

  const ResolvedLaunch& launch_;
  LaunchFiles& files_;
  NamedJobs jobs_;
  Diagnostics diagnostics_;
};

}  // namespace

bool is_run(const JobPlan& plan) {
  const bool is_own =
      plan.config.target == "trivet" && plan.config.interpreter.value_or("").empty();
  const std::vector<Argument>& words = plan.arguments;
  return is_own && !words.empty() && words[0].name.empty() && words[0].value == Value("run");
}

void ask_about_jobs(std::vector<JobPlan>& plans, const launch::Orchestrator& orchestrator) {
  for (JobPlan& plan : plans) {
    plan.orchestrator_starts_replicas = orchestrator.takes_replicas();
    plan.orchestrator_gives = [&orchestrator, job = plan.name](std::string_view swept) {
      return orchestrator.gets(job, swept);
    };
  }
}

bool JobPlan::gets(const std::string& swept) const {
  const Value& which = config.swept;
  if (orchestrator_gives && !orchestrator_gives(swept)) return false;
  if (which.is_boolean()) return which.as_boolean();
  if (!which.is_array()) return true;
  return std::any_of(which.items().begin(), which.items().end(),
                     [&](const Value& item) { return item.as_string() == swept; });
}

std::vector<JobPlan> plan_jobs(const ResolvedLaunch& launch, LaunchFiles& files) {
  return Planner(launch, files).plan();
}

}  // namespace trivet
