// SPDX-License-Identifier: Apache-2.0
#include "launch/job_plan.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/core.h>

#include "trivet/config.h"
#include "trivet/launch/jobs_provider.h"
#include "trivet/registry.h"

namespace trivet {
namespace {

namespace fs = std::filesystem;
using launch::JobConfig;
using launch::JobParams;

// What a job says: its fields without those that say nothing.
Value said(const Value& job) {
  static const Value kNothing = encode(JobConfig());
  Value kept = Value::table();
  for (const Value::Member& member : job.members()) {
    const Value* nothing = kNothing.find(member.key);
    if (member.value.is_null() || (nothing != nullptr && *nothing == member.value)) continue;
    kept.set(member.key, member.value);
  }
  return kept;
}

// Args, env and files are merged member by member, everything else is replaced.
bool is_merged(std::string_view field) {
  return field == "args" || field == "env" || field == "files";
}

void lay_over(Value& lower, const Value& upper) {
  for (const Value::Member& member : upper.members()) {
    Value* below = lower.find(member.key);
    const bool merge =
        below != nullptr && is_merged(member.key) && below->is_table() && member.value.is_table();
    if (!merge) {
      lower.set(member.key, member.value);
      continue;
    }
    for (const Value::Member& entry : member.value.members()) below->set(entry.key, entry.value);
  }
}

bool is_from_command_line(const Value& value) {
  return value.origin().file == kCommandLine;
}

class Planner {
 public:
  explicit Planner(const ResolvedLaunch& launch) : launch_(launch) {}

  std::vector<JobPlan> plan() {
    collect();
    if (jobs_.empty()) {
      problems_.add({launch_.xp.origin(), "xp.jobs", "there is no job to launch",
                     "add [xp.jobs.NAME] with a target, or launch a run's config"});
      problems_.throw_if_any();
    }
    std::vector<JobPlan> plans;
    for (auto& [name, job] : jobs_) plans.push_back(plan_of(name, job));
    check_dependencies(plans);
    problems_.throw_if_any();
    return plans;
  }

 private:
  using NamedJobs = std::vector<std::pair<std::string, Value>>;

  void collect() {
    const Value run = launch_.run ? launch_.run->tree : Value();
    if (launch_.experiment.jobs_provider.has_value()) {
      const std::unique_ptr<JobsProvider> provider = make(launch_.experiment.jobs_provider);
      for (const auto& [name, job] : provider->jobs(run)) {
        jobs_.emplace_back(name, said(encode(job)));
      }
    }
    const Value* own = launch_.xp.find("jobs");
    if (own == nullptr || !own->is_table()) return;
    for (const Value::Member& member : own->members()) {
      const auto found = std::find_if(jobs_.begin(), jobs_.end(),
                                      [&](const auto& job) { return job.first == member.key; });
      if (found == jobs_.end()) {
        jobs_.emplace_back(member.key, said(member.value));
      } else {
        lay_over(found->second, said(member.value));
      }
    }
  }

  JobPlan plan_of(const std::string& name, Value job) {
    const std::string path = joined_path("xp.jobs", name);
    Value merged = fallback(name, job);
    lay_over(merged, job);
    JobPlan plan{
        .name = name, .config = decode<JobConfig>(merged, path), .arguments = {}, .after = {}};
    if (const Value* args = merged.find("args")) plan.arguments = arguments_of(*args);
    for (const std::string& text : plan.config.after) {
      if (const auto dependency = launch::parse_dependency(text)) plan.after.push_back(*dependency);
    }
    if (plan.config.target.empty()) {
      problems_.add({launch_.xp.origin(), path + ".target", "job '" + name + "' has no target",
                     "name the program: --xp.jobs." + name + ".target=/path/to/program"});
    }
    check_files(plan, path);
    return plan;
  }

  // What [xp] says for all jobs; the command line must not lose against a file.
  Value fallback(const std::string& name, const Value& job) {
    Value fields = Value::table();
    for (const Field& field : schema_of<JobParams>().fields) {
      const Value* value = launch_.xp.find(field.name);
      if (value == nullptr) continue;
      fields.set(field.name, *value);
      const Value* own = job.find(field.name);
      if (own == nullptr || *own == *value || is_merged(field.name) ||
          !is_from_command_line(*value) || is_from_command_line(*own)) {
        continue;
      }
      problems_.add(
          {value->origin(), "xp." + field.name,
           fmt::format("the job '{}' has its own {}{}", name, field.name,
                       own->origin().known() ? " (" + to_string(own->origin()) + ")" : ""),
           fmt::format("change that one: --xp.jobs.{}.{}=...", name, field.name)});
    }
    return said(fields);
  }

  void check_files(const JobPlan& plan, const std::string& path) {
    for (const auto& [name, file] : plan.config.files) {
      std::error_code error;
      if (fs::exists(file.path(), error)) continue;
      problems_.add({launch_.xp.origin(),
                     joined_path(path + ".files", name),
                     "there is no file '" + file.text + "'",
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
        problems_.add({launch_.xp.origin(), joined_path("xp.jobs", plan.name) + ".after",
                       "there is no job '" + dependency.job + "'",
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
      problems_.add({launch_.xp.origin(),
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
  NamedJobs jobs_;
  Problems problems_;
};

}  // namespace

std::vector<JobPlan> plan_jobs(const ResolvedLaunch& launch) {
  return Planner(launch).plan();
}

}  // namespace trivet
