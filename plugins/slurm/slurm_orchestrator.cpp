// SPDX-License-Identifier: Apache-2.0
#include "slurm_orchestrator.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "batch.h"
#include "submitter.h"
#include "trivet/error.h"
#include "trivet/launch/attempt.h"
#include "trivet/os/file.h"
#include "trivet/os/process.h"
#include "unit_statuses.h"

namespace trivet::slurm {
namespace {

using launch::AttemptPhase;
using launch::Job;
using launch::JobEvent;
using launch::JobState;
using launch::JobStatus;
using launch::WorkUnit;

// A node may fail to start anything.
constexpr std::int64_t kMostReleases = 5;

// Whether the task may be released once more, which is recorded.
bool take_release(const TaskLocation& location) {
  const std::filesystem::path file = location.submission->releases_file(location.task);
  const std::string times = is_there(file) ? read_text_file(file) : std::string();
  if (std::count(times.begin(), times.end(), '\n') >= kMostReleases) return false;
  const auto now = static_cast<std::int64_t>(unix_time());
  write_all(open_file(file, O_WRONLY | O_APPEND | O_CREAT), std::to_string(now) + "\n", file);
  return true;
}

}  // namespace

SlurmOrchestrator::SlurmOrchestrator(const Config& config, launch::OrchestratorContext& context)
    : config_(config), context_(context), commands_(config.timeout.seconds) {}

// Units mostly need the same resources, so each kind is checked once.
void SlurmOrchestrator::check(std::span<const WorkUnit> units, Diagnostics& diagnostics) {
  std::set<std::vector<std::string>> asked;
  std::set<std::string> passing;
  for (const WorkUnit& unit : units) {
    for (const Job& job : unit.jobs) {
      if (!job.env_pass.empty() && passing.insert(job.name).second) {
        diagnostics.add("xp.jobs." + job.name + ".env_pass",
                        "jobs on Slurm get no environment variables from the launching machine",
                        "set them in env, or in a file that the job reads");
      }
      const std::vector<std::string> arguments = resource_arguments(job, config_);
      if (!asked.insert(arguments).second) continue;
      const std::optional<std::string> refusal = commands_.refusal(arguments);
      if (!refusal) continue;
      diagnostics.add("xp.orchestrator", "Slurm would not take job '" + job.name + "': " + *refusal,
                      "'sinfo' lists partitions and nodes; the job's needs are set by its cores, "
                      "memory, gpus, cell, and by xp.orchestrator");
    }
  }
}

void SlurmOrchestrator::launch(std::span<const WorkUnit> units) {
  const SubmitLock lock(context_.experiment_directory);
  Submissions submissions(context_.experiment_directory);
  try {
    Submitter(config_, context_, commands_, submissions).submit(units);
  } catch (const RunError& error) {
    ErrorDetails details = error.details();
    details.hint +=
        std::string(details.hint.empty() ? "" : "; ") +
        "the units are recorded; 'trivet resume' submits those that Slurm does not have";
    throw RunError(error.message(), details);
  }
}

SlurmOrchestrator::Open SlurmOrchestrator::open_tasks(std::span<const std::int64_t> wids,
                                                      const Submissions& submissions) {
  const Queue queue = commands_.queue();
  Open open;
  visit_jobs(context_.records, wids, [&](const WorkUnit& unit, const Job& job, JobStatus status) {
    const JobLocation at = location_of(unit.wid, job, submissions, queue);
    if (!at.is_live(status)) return;
    if (at.entry->is_pending()) {
      open.pending.push_back(at.id());
      return;
    }
    const std::int64_t attempt = launch::last_attempt(job);
    const bool runs =
        attempt > 0 && launch::read_attempt(job, attempt).phase == AttemptPhase::running;
    (runs ? open.running : open.stuck).push_back(at.id());
  });
  return open;
}

void SlurmOrchestrator::cancel(std::span<const std::int64_t> wids) {
  const SubmitLock lock(context_.experiment_directory);
  const Submissions submissions(context_.experiment_directory);
  if (!submissions.empty()) {
    commands_.require_up();
    commands_.cancel(open_tasks(wids, submissions).pending);
    visit_jobs(context_.records, wids, [&](const WorkUnit&, const Job& job, const JobStatus&) {
      const std::int64_t attempt = launch::last_attempt(job);
      if (attempt == 0) return;
      launch::end_attempt(job, attempt, launch::kReasonCancelled, config_.grace.seconds);
    });
    const Open open = open_tasks(wids, submissions);
    commands_.cancel(open.pending);
    commands_.terminate(open.running);
    // Jobs that cannot save: they have not started, or their node is gone.
    commands_.cancel(open.stuck);
  }
  record_cancelled(wids, submissions);
}

// Records the end of jobs that Slurm no longer has and no attempt reports.
void SlurmOrchestrator::record_cancelled(std::span<const std::int64_t> wids,
                                         const Submissions& submissions) {
  const Queue queue = submissions.empty() ? Queue() : commands_.queue();
  context_.records.refresh();
  std::vector<JobEvent> events;
  visit_jobs(context_.records, wids, [&](const WorkUnit& unit, const Job& job, JobStatus status) {
    const JobLocation at = location_of(unit.wid, job, submissions, queue);
    if (launch::is_final(status.state) || at.is_live(status)) return;
    const std::optional<JobStatus> told = launch::unrecorded_status(job, status);
    if (told && launch::is_final(told->state)) status = *told;
    if (!launch::is_final(status.state)) {
      status.state = JobState::cancelled;
      status.detail.clear();
      status.time = unix_time();
    }
    events.push_back({unit.wid, job.name, status});
  });
  if (!events.empty()) context_.records.record(events);
}

void SlurmOrchestrator::refresh(std::span<const std::int64_t> wids) {
  Submissions submissions(context_.experiment_directory);
  // Slurm may hide jobs of other users.
  const auto is_own = [](const Submission& one) { return one.user == ::getuid(); };
  if (!std::all_of(submissions.all().begin(), submissions.all().end(), is_own)) return;
  Queue queue;
  if (!submissions.empty()) {
    commands_.require_up();
    queue = commands_.queue();
  }
  // Read after the queue, so that records of a task that has left the queue are seen.
  context_.records.refresh();
  if (const auto held = releasable(wids, submissions, queue); !held.empty()) {
    commands_.release(held);
    queue = commands_.queue();
    context_.records.refresh();
  }
  const std::set<std::int64_t> wanted(wids.begin(), wids.end());
  std::vector<JobEvent> events;
  for (const WorkUnit& unit : context_.records.units()) {
    if (!wanted.contains(unit.wid)) continue;
    UnitStatuses statuses(unit, context_.records);
    for (const Job* job : in_order(unit)) {
      JobStatus& status = statuses.of(*job);
      const UnitWish wish =
          context_.records.is_cancelled(unit.wid) ? UnitWish::cancel : UnitWish::run;
      const JobStatus now =
          status_now(*job, status, location_of(unit.wid, *job, submissions, queue), wish,
                     statuses.readiness(*job));
      if (is_same(now, status)) continue;
      status = now;
      events.push_back({unit.wid, job->name, now});
    }
  }
  if (!events.empty()) context_.records.record(events);
  commands_.cancel(leftovers(submissions, queue));
}

// Returns tasks that Slurm holds since it failed to start them, as happens when a node is
// overloaded. Their jobs have not ended.
std::vector<std::string> SlurmOrchestrator::releasable(std::span<const std::int64_t> wids,
                                                       const Submissions& submissions,
                                                       const Queue& queue) {
  std::vector<std::string> tasks;
  visit_jobs(context_.records, wids, [&](const WorkUnit& unit, const Job& job, JobStatus status) {
    const JobLocation at = location_of(unit.wid, job, submissions, queue);
    const bool is_wanted = !has_ended(job, status) && !context_.records.is_cancelled(unit.wid);
    if (is_wanted && at.is_held(status) && take_release(*at.location)) tasks.push_back(at.id());
  });
  return tasks;
}

// Returns tasks that wait or are held for jobs that have ended. A restarted controller may bring
// them back, and they would stay forever.
std::vector<std::string> SlurmOrchestrator::leftovers(Submissions& submissions,
                                                      const Queue& queue) {
  std::vector<std::string> tasks;
  for (const Submission& submission : submissions.all()) {
    const std::vector<std::int64_t>& wids = submission.array.wids;
    for (std::int64_t task = 0; task < std::ssize(wids); ++task) {
      const std::int64_t wid = wids[static_cast<std::size_t>(task)];
      const QueueEntry* entry = queue.find(submission.job_id, task);
      if (wid == 0 || entry == nullptr || !entry->is_pending()) continue;
      const JobStatus status = context_.records.status(wid, submission.array.job);
      if (launch::is_final(status.state)) tasks.push_back(TaskLocation{&submission, task}.id());
    }
  }
  return tasks;
}

}  // namespace trivet::slurm
