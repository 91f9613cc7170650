// SPDX-License-Identifier: Apache-2.0
#include "supervisor.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "process_choice.h"
#include "trivet/error.h"
#include "trivet/launch/attempt.h"
#include "trivet/os/process.h"

namespace trivet::local {
namespace {

using launch::AttemptInfo;
using launch::AttemptPhase;
using launch::DependencyAnswer;
using launch::Job;
using launch::JobState;
using launch::JobStatus;
using launch::Readiness;
using std::chrono::milliseconds;

constexpr milliseconds kLongestWait{1000};
// Delay until the next look for a shim that is unknown after its start.
constexpr milliseconds kSoon{50};

std::int64_t priority_of(const UnitJobs& unit) {
  std::int64_t highest = 0;
  for (const Job& job : unit.unit.jobs) highest = std::max(highest, job.priority);
  return highest;
}

bool starts_before(const UnitJobs* a, const UnitJobs* b) {
  return priority_of(*a) > priority_of(*b);
}

launch::AttemptOptions options_for(const Allocation& allocation, const Machine& machine,
                                   double grace_seconds) {
  launch::AttemptOptions options{.grace_seconds = grace_seconds, .cpus = allocation.cpus};
  options.env.emplace_back("OMP_NUM_THREADS", std::to_string(allocation.taken.cores));
  if (machine.gpus.empty()) return options;
  std::string gpus;
  for (const std::string& gpu : allocation.gpus) gpus += (gpus.empty() ? "" : ",") + gpu;
  options.env.emplace_back("CUDA_VISIBLE_DEVICES", gpus);
  return options;
}

}  // namespace

Supervisor::Supervisor(launch::UnitRecords& records, const Machine& machine, const Limits& limits,
                       const SupervisorOptions& options)
    : records_(records), machine_(machine), limits_(limits), options_(options) {}

void Supervisor::run(const launch::Supervision& supervision) {
  while (!supervision.should_stop()) {
    read_records();
    skip_hopeless();
    admit();
    write_events();
    if (is_done()) break;
    wait(supervision.wake_fd);
  }
  // Records job ends seen during shutdown.
  write_events();
}

void Supervisor::read_records() {
  // Limits how often a large experiment with frequent changes is read.
  const Clock::time_point now = Clock::now();
  if (!has_news_ || now < read_at_ + 20 * read_took_) return;
  has_news_ = false;
  // Otherwise an event that is not yet recorded would look like a user's request for a retry.
  if (!write_events()) return;
  records_.refresh();
  std::vector<launch::WorkUnit> units = records_.units();
  for (std::size_t i = 0; i < units.size(); ++i) {
    if (i < units_.size()) {
      reopen(units_[i]);
    } else {
      UnitJobs& unit = units_.emplace_back(std::move(units[i]), records_);
      order_.insert(std::upper_bound(order_.begin(), order_.end(), &unit, starts_before), &unit);
      for (TrackedJob& tracked : unit.jobs) take_up(unit, tracked);
    }
    if (units_[i].is_open() && records_.is_cancelled(units_[i].unit.wid)) cancel(units_[i], {});
  }
  first_open_ = 0;
  read_at_ = Clock::now();
  read_took_ = read_at_ - now;
}

void Supervisor::find_cgroup_location() {
  if (cgroups_ || !options_.cgroups) return;
  cgroups_ = cgroup_location();
  if (cgroups_->parent.empty()) {
    std::fprintf(stderr, "the memory that jobs declare is counted, not enforced: %s\n",
                 cgroups_->why_not.c_str());
  }
}

// Adopts what an earlier supervisor started, and what has ended since.
void Supervisor::take_up(UnitJobs& unit, TrackedJob& tracked) {
  if (!tracked.is_open()) return;
  if (tracked.job->memory_bytes > 0) find_cgroup_location();
  try {
    const std::optional<JobStatus> now = launch::unrecorded_status(*tracked.job, tracked.status);
    if (now) set_state(unit, tracked, *now);
  } catch (const RunError& error) {
    // A second start might run the job twice. The other units need not wait for it.
    JobStatus status = tracked.status;
    status.state = JobState::failed;
    status.detail = error.message();
    set_state(unit, tracked, status);
  }
  if (tracked.status.state != JobState::running) return;
  const AttemptInfo info = launch::read_attempt(*tracked.job, tracked.status.attempt);
  const std::int64_t processes = info.processes > 0 ? info.processes : tracked.job->processes;
  tracked.allocation.taken = resources_of(*tracked.job, processes);
  watch(unit, tracked, info.shim);
  const ResourceLedger::Page page(ledger_, {});
  for (const Allocation& allocation : page.others()) {
    if (allocation.owner == tracked.allocation.owner) tracked.allocation = allocation;
  }
}

// Reopens ended jobs that a user wants to retry.
void Supervisor::reopen(UnitJobs& unit) {
  for (TrackedJob& tracked : unit.jobs) {
    if (tracked.is_open()) continue;
    const JobStatus recorded = records_.status(unit.unit.wid, tracked.job->name);
    if (launch::is_final(recorded.state)) continue;
    tracked.status = recorded;
    tracked.short_runs = 0;
    tracked.not_before = {};
    tracked.told_to_end = false;
    take_up(unit, tracked);
  }
}

void Supervisor::cancel(UnitJobs& unit, const std::string& why) {
  for (TrackedJob& tracked : unit.jobs) {
    if (!tracked.is_open() || tracked.told_to_end) continue;
    if (tracked.runs) {
      end(unit, tracked);
      continue;
    }
    JobStatus status = tracked.status;
    status.state = JobState::cancelled;
    status.detail = why;
    set_state(unit, tracked, status);
  }
}

void Supervisor::end(const UnitJobs& unit, TrackedJob& tracked) {
  try {
    launch::end_attempt(*tracked.job, tracked.status.attempt, launch::kReasonCancelled,
                        options_.grace_seconds);
    tracked.told_to_end = true;
  } catch (const RunError& error) {
    // The error is reported again when the records are read again.
    tell(unit, tracked, error.message());
  }
}

void Supervisor::set_state(const UnitJobs& unit, TrackedJob& tracked, const JobStatus& status) {
  const bool has_own_time = status.time > tracked.status.time;
  tracked.status = status;
  if (!has_own_time) tracked.status.time = unix_time();
  events_.push_back({unit.unit.wid, tracked.job->name, tracked.status});
}

// Keeps events that cannot be written now, for example on a full disk, and retries later.
bool Supervisor::write_events() {
  if (events_.empty()) return true;
  try {
    records_.record(events_);
  } catch (const RunError& error) {
    if (can_write_) std::fprintf(stderr, "%s; trying again every second\n", error.what());
    can_write_ = false;
    return false;
  }
  can_write_ = true;
  events_.clear();
  return true;
}

void Supervisor::skip_hopeless() {
  for (std::size_t i = first_open_; i < order_.size(); ++i) {
    UnitJobs& unit = *order_[i];
    // Repeats after each skip, since other jobs may wait for the skipped one.
    for (bool again = true; again;) {
      again = false;
      for (TrackedJob& tracked : unit.jobs) {
        if (!tracked.is_open() || tracked.runs || tracked.job->after.empty()) continue;
        const DependencyAnswer answer = unit.readiness(tracked);
        if (answer.readiness != Readiness::never) continue;
        JobStatus status = tracked.status;
        status.state = JobState::skipped;
        status.detail = answer.why;
        set_state(unit, tracked, status);
        again = true;
      }
    }
  }
}

void Supervisor::admit() {
  while (first_open_ < order_.size() && !order_[first_open_]->is_open()) ++first_open_;
  std::vector<Allocation> allocations = running_.allocations();
  const bool has_room = std::ssize(allocations) < limits_.jobs && first_open_ < order_.size();
  if (!has_room && !rows_changed_) return;
  ResourceLedger::Page page(ledger_, allocations);
  Capacity capacity(machine_, limits_, allocations, page.others(),
                    page.reservations_before(reservation_));
  for (std::size_t i = first_open_; i < order_.size() && !capacity.is_full(); ++i) {
    admit_from(*order_[i], capacity);
  }
  renew_reservation(capacity, page);
  page.write(running_.allocations(), reservation_);
  rows_changed_ = false;
}

void Supervisor::renew_reservation(const Capacity& capacity, const ResourceLedger::Page& page) {
  if (!capacity.waits_for_others()) {
    reservation_.reset();
  } else if (!reservation_) {
    reservation_ =
        Reservation{this_process(), *capacity.waits_for_others(), page.next_reservation()};
  } else {
    reservation_->wanted = *capacity.waits_for_others();
  }
}

void Supervisor::admit_from(UnitJobs& unit, Capacity& capacity) {
  const Clock::time_point now = Clock::now();
  std::vector<TrackedJob*> together, alone;
  for (TrackedJob& tracked : unit.jobs) {
    if (!tracked.is_open() || tracked.runs || tracked.not_before > now) continue;
    (tracked.job->after.empty() ? together : alone).push_back(&tracked);
  }
  admit_together(unit, together, capacity);
  // Another job may wait for each start.
  while (admit_one(unit, alone, capacity)) {
  }
}

bool Supervisor::admit_one(UnitJobs& unit, std::vector<TrackedJob*>& waiting, Capacity& capacity) {
  for (auto at = waiting.begin(); at != waiting.end(); ++at) {
    TrackedJob& tracked = **at;
    if (!tracked.is_open() || unit.readiness(tracked).readiness != Readiness::ready) continue;
    waiting.erase(at);
    const std::int64_t processes = choose_processes(std::array{tracked.job}, capacity).front();
    if (capacity.ask(resources_of(*tracked.job, processes), 1)) {
      start(unit, tracked, processes, capacity);
    }
    return true;
  }
  return false;
}

void Supervisor::admit_together(UnitJobs& unit, const std::vector<TrackedJob*>& together,
                                Capacity& capacity) {
  if (together.empty()) return;
  std::vector<const Job*> jobs;
  for (const TrackedJob* tracked : together) jobs.push_back(tracked->job);
  const std::vector<std::int64_t> processes = choose_processes(jobs, capacity);
  if (!capacity.ask(resources_of(jobs, processes), std::ssize(jobs))) return;
  for (std::size_t i = 0; i < together.size(); ++i) {
    // With fail_fast, a job that cannot start ends the others.
    if (together[i]->is_open()) start(unit, *together[i], processes[i], capacity);
  }
}

void Supervisor::start(UnitJobs& unit, TrackedJob& tracked, std::int64_t processes,
                       Capacity& capacity) {
  const Job job = launch::with_processes(*tracked.job, processes);
  tracked.allocation = capacity.take(resources_of(job));
  JobStatus status{.state = JobState::running,
                   .attempt = tracked.status.attempt + 1,
                   .failures = tracked.status.failures,
                   .host = host_name()};
  try {
    launch::AttemptOptions options =
        options_for(tracked.allocation, machine_, options_.grace_seconds);
    if (cgroups_) options.cgroup_parent = cgroups_->parent;
    const pid_t shim = launch::start_attempt(job, status.attempt, options);
    status.time = status.started = unix_time();
    set_state(unit, tracked, status);
    watch(unit, tracked, shim);
  } catch (const launch::RetryError& error) {
    postpone(unit, tracked, error.message());
  } catch (const RunError& error) {
    status.state = JobState::failed;
    status.detail = error.message();
    settle(unit, tracked, status);
  }
}

// The job is fine: it waits until the missing resource may be available again.
void Supervisor::postpone(const UnitJobs& unit, TrackedJob& tracked, const std::string& why) {
  pause(tracked);
  tell(unit, tracked, why);
}

void Supervisor::pause(TrackedJob& tracked) {
  const std::chrono::duration<double> pause(launch::pause_after(++tracked.short_runs));
  tracked.not_before = Clock::now() + std::chrono::duration_cast<Clock::duration>(pause);
  try_again_at_ = std::min(try_again_at_, tracked.not_before);
}

void Supervisor::tell(const UnitJobs& unit, TrackedJob& tracked, const std::string& why) {
  if (tracked.status.detail == why) return;
  JobStatus status = tracked.status;
  status.detail = why;
  set_state(unit, tracked, status);
}

void Supervisor::watch(UnitJobs& unit, TrackedJob& tracked, pid_t shim) {
  running_.watch(unit, tracked, shim);
  rows_changed_ = true;
}

void Supervisor::collect(UnitJobs& unit, TrackedJob& tracked) {
  const AttemptInfo info = launch::read_attempt(*tracked.job, tracked.status.attempt);
  if (info.phase == AttemptPhase::running) {
    watch(unit, tracked, info.shim);
    return;
  }
  running_.remove(tracked);
  rows_changed_ = true;
  if (info.phase == AttemptPhase::fresh) {
    JobStatus status = tracked.status;
    status.state = JobState::pending;
    status.attempt = std::max<std::int64_t>(status.attempt - 1, 0);
    set_state(unit, tracked, status);
    postpone(unit, tracked, "its shim was killed before the job started");
    return;
  }
  settle(unit, tracked, info.status);
}

void Supervisor::settle(const UnitJobs& unit, TrackedJob& tracked, const JobStatus& attempt) {
  JobStatus status = launch::after_attempt(*tracked.job, tracked.status, attempt);
  if (!launch::is_final(status.state)) {
    if (tracked.told_to_end) status.state = JobState::cancelled;
    if (launch::was_short(attempt)) {
      pause(tracked);
    } else {
      tracked.short_runs = 0;
    }
  }
  set_state(unit, tracked, status);
  const bool has_failed = status.state == JobState::failed || status.state == JobState::lost;
  if (!has_failed || !options_.fail_fast) return;
  const std::string why = "fail_fast: job '" + tracked.job->name + "' of unit " +
                          std::to_string(unit.unit.wid) + " has failed";
  for (UnitJobs& other : units_) cancel(other, why);
}

bool Supervisor::is_done() {
  const auto has_open = [](const UnitJobs* unit) { return unit->is_open(); };
  if (std::any_of(order_.begin() + static_cast<std::ptrdiff_t>(first_open_), order_.end(),
                  has_open)) {
    return false;
  }
  // Units may have been added in the meantime.
  has_news_ = true;
  read_at_ = {};
  read_records();
  return events_.empty() && std::none_of(order_.begin(), order_.end(), has_open);
}

int Supervisor::wait_milliseconds() {
  const Clock::time_point now = Clock::now();
  if (try_again_at_ <= now) {
    try_again_at_ = Clock::time_point::max();
    for (std::size_t i = first_open_; i < order_.size(); ++i) {
      for (const TrackedJob& tracked : order_[i]->jobs) {
        if (!tracked.runs && tracked.not_before > now) {
          try_again_at_ = std::min(try_again_at_, tracked.not_before);
        }
      }
    }
  }
  Clock::time_point until = std::min(now + kLongestWait, try_again_at_);
  if (has_news_) until = std::min(until, read_at_ + 20 * read_took_);
  if (running_.has_unknown_shim()) until = std::min(until, now + kSoon);
  // Rounds up, since waking too early means waking twice.
  const auto left = std::chrono::ceil<milliseconds>(until - now).count();
  return std::max(0, static_cast<int>(left));
}

void Supervisor::wait(int wake_fd) {
  // While it waits for resources, job ends of other experiments wake it.
  std::array files{pollfd{wake_fd, POLLIN, 0},
                   pollfd{reservation_ ? ledger_.news_fd() : -1, POLLIN, 0}};
  const RunningJobs::Ended ended = running_.wait(files, wait_milliseconds());
  if (ended.is_quiet || files[0].revents != 0) has_news_ = true;
  ledger_.take_news();
  for (const RunningJobs::Running& one : ended.jobs) collect(*one.unit, *one.tracked);
}

}  // namespace trivet::local
