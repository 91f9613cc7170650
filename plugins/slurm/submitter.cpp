// SPDX-License-Identifier: Apache-2.0
#include "submitter.h"

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>

#include "batch.h"
#include "trivet/config/enums.h"
#include "trivet/error.h"
#include "trivet/launch/attempt.h"
#include "trivet/os/process.h"

namespace trivet::slurm {

using launch::Dependency;
using launch::Job;
using launch::JobState;
using launch::JobStatus;
using launch::Readiness;
using launch::WorkUnit;

Submitter::Submitter(const SlurmConfig& config, launch::OrchestratorContext& context,
                     Commands& commands, Submissions& submissions)
    : config_(config), context_(context), commands_(commands), submissions_(submissions) {}

void Submitter::submit(std::span<const WorkUnit> units) {
  if (!submissions_.empty()) {
    queue_ = commands_.queue();
    resolve_submissions();
  }
  context_.records.refresh();
  const std::vector<Wanted> wanted = wanted_jobs(units);
  record();
  if (wanted.empty()) return;
  const std::int64_t most =
      config_.max_array_size > 0 ? config_.max_array_size : commands_.max_array_size();
  std::vector<Wanted> chunk;
  std::set<std::int64_t> chunk_units;
  for (const Wanted& one : wanted) {
    const bool is_full = std::ssize(chunk_units) == most && !chunk_units.contains(one.unit->wid);
    if (is_full) {
      submit_chunk(chunk);
      chunk.clear();
      chunk_units.clear();
    }
    chunk.push_back(one);
    chunk_units.insert(one.unit->wid);
  }
  submit_chunk(chunk);
}

// For a launcher that was killed between sbatch and the write of its answer.
void Submitter::resolve_submissions() {
  for (Submission& submission : submissions_.all()) {
    if (!submission.job_id.empty()) continue;
    const std::string job_id = queue_.job_id_of(submission.name);
    if (job_id.empty()) {
      submissions_.make_void(submission);
    } else {
      submissions_.set_job_id(submission, job_id);
    }
  }
}

// Returns jobs by unit, each after the jobs that it waits for.
std::vector<Submitter::Wanted> Submitter::wanted_jobs(std::span<const WorkUnit> units) {
  std::vector<Wanted> wanted;
  for (const WorkUnit& unit : units) {
    UnitStatuses& statuses = statuses_of(unit);
    for (const Job* job : in_order(unit)) {
      const JobStatus recorded = statuses.of(*job);
      if (launch::is_final(recorded.state)) continue;
      const JobLocation at = location_of(unit.wid, *job, submissions_, queue_);
      const Wanted one{&unit, job};
      const JobStatus now = status_now(*job, recorded, at, UnitWish::run, statuses.readiness(*job));
      if (at.is_live(recorded)) {
        if (!is_same(now, recorded)) set_status(one, now);
        continue;
      }
      if (launch::is_final(now.state) && now.state != JobState::lost) {
        set_status(one, now);
        continue;
      }
      if (statuses.readiness(*job).readiness == Readiness::never) {
        JobStatus skipped = recorded;
        skipped.state = JobState::skipped;
        skipped.detail = statuses.readiness(*job).why;
        set_status(one, skipped);
        continue;
      }
      wanted.push_back(one);
    }
  }
  return wanted;
}

void Submitter::submit_chunk(const std::vector<Wanted>& chunk) {
  std::map<std::int64_t, std::int64_t> task_of;
  std::vector<std::string> names;
  for (const Wanted& one : chunk) {
    task_of.emplace(one.unit->wid, std::ssize(task_of));
    if (std::find(names.begin(), names.end(), one.job->name) == names.end()) {
      names.push_back(one.job->name);
    }
  }
  arrays_.clear();
  for (const std::string& name : names) {
    // Groups jobs by the properties that differ between arrays.
    std::map<std::pair<std::string, std::vector<std::string>>, Tasks> arrays;
    for (const Wanted& one : chunk) {
      if (one.job->name != name) continue;
      const std::int64_t task = task_of.at(one.unit->wid);
      arrays[{dependency_of(one, task), resource_arguments(*one.job, config_)}].emplace(task, one);
    }
    for (const auto& [key, tasks] : arrays) submit_array(tasks, key.first);
  }
}

// Returns the dependency for Slurm. "aftercorr:12" lets each task wait for the task of the same
// number, so that all can be in one array.
std::string Submitter::dependency_of(const Wanted& wanted, std::int64_t task) {
  UnitStatuses& statuses = statuses_of(*wanted.unit);
  std::string text;
  for (const Dependency& dependency : wanted.job->after) {
    Job alone = *wanted.job;
    alone.after = {dependency};
    if (statuses.readiness(alone).readiness == Readiness::ready) continue;
    text += text.empty() ? "" : ",";
    const auto array = arrays_.find({dependency.job, task});
    if (array != arrays_.end() && dependency.kind == launch::AfterKind::afterok) {
      text += "aftercorr:" + array->second;
      continue;
    }
    const std::optional<TaskLocation> location =
        submissions_.find(wanted.unit->wid, dependency.job);
    if (!location) {
      throw RunError("job '" + dependency.job + "' of unit " + std::to_string(wanted.unit->wid) +
                     " is not in Slurm, but '" + wanted.job->name + "' waits for it");
    }
    text += std::string(enum_name(dependency.kind)) + ":" + location->id();
  }
  return text;
}

void Submitter::submit_array(const Tasks& tasks, const std::string& dependency) {
  const Job& job = *tasks.begin()->second.job;
  Submission submission;
  submission.array.experiment = context_.experiment_directory;
  submission.array.job = job.name;
  submission.array.wids.resize(static_cast<std::size_t>(tasks.rbegin()->first) + 1);
  submission.attempts.resize(submission.array.wids.size());
  submission.array.grace_seconds = config_.grace.seconds;
  submission.array.env = {{"OMP_NUM_THREADS", std::to_string(job.cores)}};
  submission.array.pass_env = {"SLURM_*", "SLURMD_NODENAME", "CUDA_VISIBLE_DEVICES",
                               "ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"};
  submission.array.starter = starter_of(job, config_);
  // On SIGTERM srun kills its tasks at once. SIGUSR1 it hands on, and a run stops as after SIGTERM.
  if (job.communicates) submission.array.end_signal = SIGUSR1;
  for (const auto& [task, wanted] : tasks) {
    submission.array.wids[static_cast<std::size_t>(task)] = wanted.unit->wid;
    submission.attempts[static_cast<std::size_t>(task)] = std::max(
        launch::last_attempt(*wanted.job), statuses_of(*wanted.unit).of(*wanted.job).attempt);
  }
  const auto script_for = [&](const std::filesystem::path& file) {
    return batch_script(context_.program, file, config_,
                        takes_fewer_nodes(job) ? NodeCount::range : NodeCount::fixed);
  };
  Submission& made = submissions_.create(std::move(submission), script_for);
  std::vector<std::string> arguments = array_arguments(made, config_, dependency);
  const std::vector<std::string> resources = resource_arguments(job, config_);
  arguments.insert(arguments.end(), resources.begin(), resources.end());
  submissions_.set_job_id(made, commands_.submit(arguments, made.script_file().string()));
  // Tasks that started at once have recorded more than "queued".
  context_.records.refresh();
  for (const auto& [task, wanted] : tasks) {
    arrays_[{job.name, task}] = made.job_id;
    JobStatus status = statuses_of(*wanted.unit).of(*wanted.job);
    const JobStatus recorded = context_.records.status(wanted.unit->wid, job.name);
    if (recorded.state != status.state || recorded.attempt != status.attempt) continue;
    status.state = JobState::queued;
    status.detail = "Slurm job " + TaskLocation{&made, task}.id();
    set_status(wanted, status);
  }
  record();
}

UnitStatuses& Submitter::statuses_of(const WorkUnit& unit) {
  return statuses_.try_emplace(unit.wid, unit, context_.records).first->second;
}

void Submitter::set_status(const Wanted& wanted, const JobStatus& status) {
  JobStatus& own = statuses_of(*wanted.unit).of(*wanted.job);
  const bool has_own_time = status.time > own.time;
  own = status;
  if (!has_own_time) own.time = unix_time();
  events_.push_back({wanted.unit->wid, wanted.job->name, own});
}

void Submitter::record() {
  if (events_.empty()) return;
  context_.records.record(events_, Durability::synced);
  events_.clear();
}

}  // namespace trivet::slurm
