// SPDX-License-Identifier: Apache-2.0
#include "unit_statuses.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "trivet/launch/attempt.h"
#include "trivet/os/process.h"

namespace trivet::slurm {
namespace {

using launch::AttemptPhase;
using launch::Job;
using launch::JobState;
using launch::JobStatus;
using launch::Readiness;
using launch::WorkUnit;

// Reasons for which any job may wait at times.
constexpr std::array<std::string_view, 8> kUsual = {
    "",          "None",       "Priority", "Resources",
    "BeginTime", "Dependency", "Cleaning", "JobArrayTaskLimit"};

JobStatus with_state(JobStatus status, JobState state, const std::string& detail) {
  status.state = state;
  status.detail = detail;
  status.time = unix_time();
  return status;
}

std::string queued_detail(const JobLocation& at) {
  const std::string text = "Slurm job " + at.id();
  const std::string& reason = at.entry->reason;
  const bool is_usual = std::find(kUsual.begin(), kUsual.end(), reason) != kUsual.end();
  return at.entry->is_pending() && !is_usual ? text + ": " + reason : text;
}

// A node failure is not a failure of the job, and run_job() does not count it on restart. Only a
// lost attempt ends without an exit code or a signal.
std::int64_t failures_of(const JobStatus& told, const JobStatus& recorded) {
  const bool was_lost = !told.exit_code && told.signal == 0;
  return was_lost ? recorded.failures : told.failures;
}

// The status while Slurm has the job. `told` is what unrecorded attempts report. They are not read
// again here, since a job may end between two reads. A job recorded as queued counts as handled, so
// an attempt that has not ended must not be recorded as queued.
JobStatus live_status(const JobStatus& recorded, std::optional<JobStatus> told,
                      const JobLocation& at) {
  // A task reports the job as running before the attempt leaves a trace.
  const bool is_without_trace = told && told->attempt < recorded.attempt;
  if (is_without_trace && !at.entry->is_pending()) told.reset();
  JobStatus status = recorded;
  if (told) {
    status.state = told->state;
    status.attempt = told->attempt;
    status.failures = failures_of(*told, recorded);
  }
  if (!at.entry->host.empty()) status.host = at.entry->host;
  const bool runs = status.state == JobState::running;
  return with_state(status, runs ? JobState::running : JobState::queued, queued_detail(at));
}

// The result of the last attempt, if it has ended.
std::optional<JobStatus> last_end(const Job& job) {
  const std::int64_t last = launch::last_attempt(job);
  if (last == 0) return std::nullopt;
  launch::AttemptInfo info = launch::read_attempt(job, last);
  return info.phase == AttemptPhase::ended ? std::optional(std::move(info.status)) : std::nullopt;
}

// The status when Slurm is done with the job and no attempt reports its end.
JobStatus dropped_status(const Job& job, const JobStatus& recorded, const JobLocation& at,
                         UnitWish wish, const launch::DependencyAnswer& dependency) {
  const std::string state = at.entry != nullptr ? at.entry->state : std::string();
  if (wish == UnitWish::cancel) return with_state(recorded, JobState::cancelled, {});
  if (dependency.readiness == Readiness::never) {
    return with_state(recorded, JobState::skipped, dependency.why);
  }
  const std::string said = "Slurm job " + at.id();
  if (state == "CANCELLED") return with_state(recorded, JobState::cancelled, said + ": CANCELLED");
  const bool is_held = at.entry != nullptr && at.entry->has_failed_to_start();
  const std::string& why = is_held ? at.entry->reason : state;
  const std::string known = said + (why.empty() ? " is gone" : ": " + why);
  // The job has saved its state, so nothing is lost, whatever Slurm does.
  const std::optional<JobStatus> end = last_end(job);
  if (end && end->state == JobState::preempted) {
    JobStatus saved = recorded;
    saved.attempt = end->attempt;
    saved.exit_code = end->exit_code;
    saved.signal = end->signal;
    return with_state(saved, JobState::preempted, known + "; waits for 'trivet resume'");
  }
  // A time limit does not end a job that had ended before and was to be restarted. A restarted
  // controller may report such a job as running.
  const bool is_limit = state == "TIMEOUT" || state == "DEADLINE" || state == "OUT_OF_MEMORY";
  if (is_limit && !end) return with_state(recorded, JobState::failed, known);
  return with_state(recorded, JobState::lost,
                    known + "; see " + at.location->submission->log(at.location->task).string());
}

bool is_told_by_attempt(const JobStatus& status) {
  return launch::is_final(status.state) && status.state != JobState::lost;
}

}  // namespace

bool is_same(const JobStatus& a, const JobStatus& b) {
  return a.state == b.state && a.attempt == b.attempt && a.detail == b.detail;
}

std::string JobLocation::id() const {
  return job_id + "_" + std::to_string(location->task);
}

bool JobLocation::is_live(const JobStatus& recorded) const {
  return entry != nullptr && entry->is_active() && is_submitted(recorded);
}

bool JobLocation::is_held(const JobStatus& recorded) const {
  return entry != nullptr && entry->has_failed_to_start() && is_submitted(recorded);
}

bool JobLocation::is_submitted(const JobStatus& recorded) const {
  const bool is_asked_again = recorded.state == JobState::pending && recorded.failures == 0;
  const auto task = static_cast<std::size_t>(location->task);
  return !is_asked_again || recorded.attempt <= location->submission->attempts[task];
}

JobLocation location_of(std::int64_t wid, const Job& job, const Submissions& submissions,
                        const Queue& queue) {
  JobLocation at;
  at.location = submissions.find(wid, job.name);
  if (!at.location) return at;
  at.job_id = at.location->submission->job_id;
  if (at.job_id.empty()) at.job_id = queue.job_id_of(at.location->submission->name);
  at.entry = queue.find(at.job_id, at.location->task);
  return at;
}

JobStatus status_now(const Job& job, const JobStatus& recorded, const JobLocation& at,
                     UnitWish wish, const launch::DependencyAnswer& dependency) {
  if (launch::is_final(recorded.state)) return recorded;
  const std::optional<JobStatus> told = launch::unrecorded_status(job, recorded);
  if (told && is_told_by_attempt(*told)) return *told;
  if (at.is_live(recorded)) {
    const JobStatus now = live_status(recorded, told, at);
    return is_same(now, recorded) ? recorded : now;
  }
  // The job was never submitted, or is wanted again.
  if (recorded.state == JobState::pending || !at.location) return recorded;
  JobStatus known = recorded;
  if (told) known.attempt = told->attempt;
  return dropped_status(job, known, at, wish, dependency);
}

bool has_ended(const Job& job, const JobStatus& recorded) {
  const JobStatus known = launch::unrecorded_status(job, recorded).value_or(recorded);
  return launch::is_final(recorded.state) || is_told_by_attempt(known);
}

std::vector<const Job*> in_order(const WorkUnit& unit) {
  std::vector<const Job*> order;
  const auto is_there = [&](const std::string& name) {
    return std::any_of(order.begin(), order.end(),
                       [&](const Job* job) { return job->name == name; });
  };
  // The graph has no cycles, so every round adds a job.
  for (std::size_t round = 0; round < unit.jobs.size(); ++round) {
    for (const Job& job : unit.jobs) {
      const bool may = std::all_of(job.after.begin(), job.after.end(), [&](const auto& dependency) {
        return is_there(dependency.job);
      });
      if (may && !is_there(job.name)) order.push_back(&job);
    }
  }
  return order;
}

UnitStatuses::UnitStatuses(const WorkUnit& unit, launch::UnitRecords& records) : unit_(unit) {
  for (const Job& job : unit.jobs) statuses_.push_back(records.status(unit.wid, job.name));
}

JobStatus& UnitStatuses::of(const Job& job) {
  return statuses_[static_cast<std::size_t>(&job - unit_.jobs.data())];
}

launch::DependencyAnswer UnitStatuses::readiness(const Job& job) const {
  return launch::readiness_of(job, [&](std::string_view name) -> const JobStatus* {
    for (std::size_t i = 0; i < unit_.jobs.size(); ++i) {
      if (unit_.jobs[i].name == name) return &statuses_[i];
    }
    return nullptr;
  });
}

}  // namespace trivet::slurm
