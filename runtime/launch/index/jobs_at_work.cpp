// SPDX-License-Identifier: Apache-2.0
#include "launch/index/jobs_at_work.h"

#include <algorithm>
#include <set>
#include <system_error>

#include <fmt/core.h>

#include "base/process_info.h"
#include "launch/index/live_job_state.h"
#include "trivet/config/enums.h"
#include "trivet/error.h"
#include "trivet/launch/attempt.h"

namespace trivet {
namespace {

namespace fs = std::filesystem;

// The process id of a job's shim. 0 if it does not run on this machine.
pid_t shim_of(const JobView& job) {
  try {
    return launch::read_attempt(job_of(job), job.status.attempt).shim;
  } catch (const RunError&) {
    return 0;
  }
}

std::optional<double> logged(const Logs& logs, std::string_view name) {
  const double* number = logs.find(name);
  return number != nullptr ? std::optional(*number) : std::nullopt;
}

void set_numbers(JobAtWork& job, const LastRecords& last) {
  if (!last.train) return;
  // The status is written every few seconds, a record at certain steps; either may be newer.
  job.run.step = std::max(job.run.step, last.train->step);
  job.steps_per_second = logged(last.train->rates, "steps_per_second");
  job.examples_per_second = logged(last.train->rates, "examples_per_second");
  job.loss = logged(last.train->values, "training_loss");
  for (const auto& [name, value] : last.train->values) {
    if (!job.loss && name.find("loss") != std::string::npos) job.loss = value;
  }
}

bool is_at_work(const RunStatus& run) {
  const std::set<std::string> rests = {"done",      "failed", "interrupted",
                                       "preempted", "lost",   "unknown"};
  return !rests.contains(run.state);
}

}  // namespace

std::optional<double> JobAtWork::seconds_left() const {
  const bool known = steps_per_second && *steps_per_second > 0 && run.step >= 0 && run.target > 0;
  if (!known) return std::nullopt;
  return static_cast<double>(std::max<std::int64_t>(run.target - run.step, 0)) / *steps_per_second;
}

JobsAtWork::JobsAtWork(fs::path root) : root_(root.lexically_normal()), index_(root_) {}

std::vector<JobAtWork> JobsAtWork::look() {
  const ProcessTable processes;
  before_ = std::exchange(now_, {});
  std::vector<JobAtWork> jobs;
  add_launched(processes, jobs);
  add_runs(processes, jobs);
  return jobs;
}

void JobsAtWork::set_usage(JobAtWork& job, const TreeUsage& usage) {
  job.processes = usage.processes;
  if (usage.processes == 0) return;
  job.memory_bytes = usage.memory_bytes;
  const double now = unix_time();
  const auto before = before_.find(job.name);
  const bool is_same = before != before_.end() && before->second.started == job.started;
  const double since = is_same ? before->second.time : job.started;
  const double used = usage.cpu_seconds - (is_same ? before->second.cpu_seconds : 0);
  if (since > 0 && now > since) job.cores = std::max(0.0, used) / (now - since);
  now_[job.name] = {now, usage.cpu_seconds, job.started};
}

void JobsAtWork::add_launched(const ProcessTable& processes, std::vector<JobAtWork>& jobs) {
  for (const UnitAtWork& unit : index_.at_work()) {
    for (const JobView& view : unit.jobs) {
      JobAtWork& job = jobs.emplace_back();
      job.unit = unit.unit.id;
      job.name = fmt::format("{}/{}/{}", job.unit->first, job.unit->second, view.name);
      job.state = enum_name(view.status.state);
      job.host = view.status.host;
      job.started = view.status.started;
      job.run = unit.unit.run;
      set_numbers(job, unit.numbers.last);
      set_usage(job, processes.usage_below(shim_of(view)));
    }
  }
}

void JobsAtWork::add_runs(const ProcessTable& processes, std::vector<JobAtWork>& jobs) {
  std::error_code ignored;
  if (!fs::is_directory(root_, ignored)) return;
  std::set<fs::path> experiments;
  for (const ExperimentStore::Location& location : ExperimentStore(root_).all()) {
    experiments.insert(location.directory);
  }
  for (const fs::path& path : find_runs(root_, experiments)) {
    RunStatus run = run_info(path);
    if (!is_at_work(run)) continue;
    JobAtWork& job = jobs.emplace_back();
    const fs::path relative = path.lexically_relative(root_);
    job.name = relative.empty() || relative == "." ? path.string() : relative.string();
    job.state = run.state;
    job.host = run.host;
    job.started = std::max(0.0, run.started);
    if (run.host == host_name() && run.pid > 0) {
      set_usage(job, processes.from(static_cast<pid_t>(run.pid)));
    }
    job.run = std::move(run);
    set_numbers(job, job.run.last);
  }
}

}  // namespace trivet
