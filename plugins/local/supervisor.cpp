// SPDX-License-Identifier: Apache-2.0
#include "supervisor.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include <poll.h>

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
// How soon after its start a keeper that is still unknown is looked for again.
constexpr milliseconds kSoon{50};

std::int64_t priority_of(const UnitTasks& unit) {
  std::int64_t highest = 0;
  for (const Job& job : unit.unit.jobs) highest = std::max(highest, job.priority);
  return highest;
}

bool goes_first(const UnitTasks* a, const UnitTasks* b) {
  return priority_of(*a) > priority_of(*b);
}

launch::AttemptOptions options_for(const Row& row, const Machine& machine, double grace_seconds) {
  launch::AttemptOptions options{.grace_seconds = grace_seconds, .cpus = row.cpus};
  options.env.emplace_back("OMP_NUM_THREADS", std::to_string(row.taken.cores));
  if (machine.gpus.empty()) return options;
  std::string gpus;
  for (const std::string& gpu : row.gpus) gpus += (gpus.empty() ? "" : ",") + gpu;
  options.env.emplace_back("CUDA_VISIBLE_DEVICES", gpus);
  return options;
}

}  // namespace

Supervisor::Supervisor(launch::UnitRecords& records, const Machine& machine, const Limits& limits,
                       const SupervisorOptions& options)
    : records_(records), machine_(machine), limits_(limits), options_(options) {}

void Supervisor::run(const Supervision& supervision) {
  while (!supervision.should_stop()) {
    read_records();
    skip_hopeless();
    admit();
    write_events();
    if (is_done()) break;
    wait(supervision.wake_fd);
  }
  // Ends that were seen on the way out.
  write_events();
}

void Supervisor::read_records() {
  // A large experiment whose records change all the time must not be read all the time.
  const Clock::time_point now = Clock::now();
  if (!has_news_ || now < read_at_ + 20 * read_took_) return;
  has_news_ = false;
  // What is known here and not there would look like somebody's wish for another try.
  if (!write_events()) return;
  records_.refresh();
  std::vector<launch::WorkUnit> units = records_.units();
  for (std::size_t i = 0; i < units.size(); ++i) {
    if (i < units_.size()) {
      reopen(units_[i]);
    } else {
      UnitTasks& unit = units_.emplace_back(std::move(units[i]), records_);
      order_.insert(std::upper_bound(order_.begin(), order_.end(), &unit, goes_first), &unit);
      for (Task& task : unit.tasks) take_up(unit, task);
    }
    if (units_[i].is_open() && records_.is_cancelled(units_[i].unit.wid)) cancel(units_[i], {});
  }
  first_open_ = 0;
  read_at_ = Clock::now();
  read_took_ = read_at_ - now;
}

void Supervisor::find_cgroup_place() {
  if (cgroups_ || !options_.cgroups) return;
  cgroups_ = cgroup_place();
  if (cgroups_->parent.empty()) {
    std::fprintf(stderr, "the memory that jobs declare is counted, not enforced: %s\n",
                 cgroups_->why_not.c_str());
  }
}

// What an earlier supervisor has started, and what has ended since.
void Supervisor::take_up(UnitTasks& unit, Task& task) {
  if (!task.is_open()) return;
  if (task.job->memory_bytes > 0) find_cgroup_place();
  try {
    const std::optional<JobStatus> now = launch::unrecorded_status(*task.job, task.status);
    if (now) set_state(unit, task, *now);
  } catch (const RunError& error) {
    // Started anew it might run twice, and the other units need not wait for it.
    JobStatus status = task.status;
    status.state = JobState::failed;
    status.detail = error.message();
    set_state(unit, task, status);
  }
  if (task.status.state != JobState::running) return;
  task.row.taken = resources_of(*task.job);
  watch(unit, task, launch::read_attempt(*task.job, task.status.attempt).keeper);
  const Ledger::Page page(ledger_, {});
  for (const Row& row : page.others()) {
    if (row.owner == task.row.owner) task.row = row;
  }
}

// Jobs that have ended and that somebody wants to be tried again.
void Supervisor::reopen(UnitTasks& unit) {
  for (Task& task : unit.tasks) {
    if (task.is_open()) continue;
    const JobStatus recorded = records_.status(unit.unit.wid, task.job->name);
    if (launch::is_final(recorded.state)) continue;
    task.status = recorded;
    task.short_runs = 0;
    task.not_before = {};
    task.told_to_end = false;
    take_up(unit, task);
  }
}

void Supervisor::cancel(UnitTasks& unit, const std::string& why) {
  for (Task& task : unit.tasks) {
    if (!task.is_open() || task.told_to_end) continue;
    if (task.runs) {
      end(unit, task);
      continue;
    }
    JobStatus status = task.status;
    status.state = JobState::cancelled;
    status.detail = why;
    set_state(unit, task, status);
  }
}

void Supervisor::end(const UnitTasks& unit, Task& task) {
  try {
    launch::end_attempt(*task.job, task.status.attempt, launch::kReasonCancelled,
                        options_.grace_seconds);
    task.told_to_end = true;
  } catch (const RunError& error) {
    // It is told again when the records are read again.
    tell(unit, task, error.message());
  }
}

void Supervisor::set_state(const UnitTasks& unit, Task& task, const JobStatus& status) {
  const bool has_own_time = status.time > task.status.time;
  task.status = status;
  if (!has_own_time) task.status.time = unix_time();
  events_.push_back({unit.unit.wid, task.job->name, task.status});
}

// What cannot be written now, since the disk is full for instance, is kept and written later.
bool Supervisor::write_events() {
  if (events_.empty()) return true;
  try {
    records_.record(events_);
  } catch (const RunError& error) {
    if (can_write_) std::fprintf(stderr, "%s; it is tried again every second\n", error.what());
    can_write_ = false;
    return false;
  }
  can_write_ = true;
  events_.clear();
  return true;
}

void Supervisor::skip_hopeless() {
  for (std::size_t i = first_open_; i < order_.size(); ++i) {
    UnitTasks& unit = *order_[i];
    // Once more after each, since others may wait for the one that is skipped.
    for (bool again = true; again;) {
      again = false;
      for (Task& task : unit.tasks) {
        if (!task.is_open() || task.runs || task.job->after.empty()) continue;
        const DependencyAnswer answer = unit.readiness(task);
        if (answer.readiness != Readiness::never) continue;
        JobStatus status = task.status;
        status.state = JobState::skipped;
        status.detail = answer.why;
        set_state(unit, task, status);
        again = true;
      }
    }
  }
}

void Supervisor::admit() {
  while (first_open_ < order_.size() && !order_[first_open_]->is_open()) ++first_open_;
  std::vector<Row> rows = running_.rows();
  const bool has_room = std::ssize(rows) < limits_.jobs && first_open_ < order_.size();
  if (!has_room && !rows_changed_) return;
  Ledger::Page page(ledger_, rows);
  Room room(machine_, limits_, rows, page.others(), page.tickets_before(ticket_));
  for (std::size_t i = first_open_; i < order_.size() && !room.is_full(); ++i) {
    admit_from(*order_[i], room);
  }
  renew_ticket(room, page);
  page.write(running_.rows(), ticket_);
  rows_changed_ = false;
}

void Supervisor::renew_ticket(const Room& room, const Ledger::Page& page) {
  if (!room.waits_for_others()) {
    ticket_.reset();
  } else if (!ticket_) {
    ticket_ = Ticket{this_process(), *room.waits_for_others(), page.next_ticket()};
  } else {
    ticket_->wanted = *room.waits_for_others();
  }
}

void Supervisor::admit_from(UnitTasks& unit, Room& room) {
  const Clock::time_point now = Clock::now();
  std::vector<Task*> together, alone;
  for (Task& task : unit.tasks) {
    if (!task.is_open() || task.runs || task.not_before > now) continue;
    (task.job->after.empty() ? together : alone).push_back(&task);
  }
  admit_together(unit, together, room);
  // Each start may be what another job waits for.
  while (admit_one(unit, alone, room)) {
  }
}

bool Supervisor::admit_one(UnitTasks& unit, std::vector<Task*>& waiting, Room& room) {
  for (auto at = waiting.begin(); at != waiting.end(); ++at) {
    Task& task = **at;
    if (!task.is_open() || unit.readiness(task).readiness != Readiness::ready) continue;
    waiting.erase(at);
    if (room.ask(resources_of(*task.job), 1)) start(unit, task, room);
    return true;
  }
  return false;
}

void Supervisor::admit_together(UnitTasks& unit, const std::vector<Task*>& together, Room& room) {
  Resources want;
  for (const Task* task : together) want += resources_of(*task->job);
  if (together.empty() || !room.ask(want, std::ssize(together))) return;
  for (Task* task : together) {
    // With fail_fast, one that cannot be started takes the others with it.
    if (task->is_open()) start(unit, *task, room);
  }
}

void Supervisor::start(UnitTasks& unit, Task& task, Room& room) {
  const Job& job = *task.job;
  task.row = room.take(resources_of(job));
  JobStatus status{.state = JobState::running,
                   .attempt = task.status.attempt + 1,
                   .failures = task.status.failures,
                   .host = host_name()};
  try {
    launch::AttemptOptions options = options_for(task.row, machine_, options_.grace_seconds);
    if (cgroups_) options.cgroup_parent = cgroups_->parent;
    const pid_t keeper = launch::start_attempt(job, status.attempt, options);
    status.time = status.started = unix_time();
    set_state(unit, task, status);
    watch(unit, task, keeper);
  } catch (const launch::RetryError& error) {
    postpone(unit, task, error.message());
  } catch (const RunError& error) {
    status.state = JobState::failed;
    status.detail = error.message();
    settle(unit, task, status);
  }
}

// Nothing is wrong with the job: it waits until what is short may be there again.
void Supervisor::postpone(const UnitTasks& unit, Task& task, const std::string& why) {
  pause(task);
  tell(unit, task, why);
}

void Supervisor::pause(Task& task) {
  const std::chrono::duration<double> pause(launch::pause_after(++task.short_runs));
  task.not_before = Clock::now() + std::chrono::duration_cast<Clock::duration>(pause);
  try_again_at_ = std::min(try_again_at_, task.not_before);
}

void Supervisor::tell(const UnitTasks& unit, Task& task, const std::string& why) {
  if (task.status.detail == why) return;
  JobStatus status = task.status;
  status.detail = why;
  set_state(unit, task, status);
}

void Supervisor::watch(UnitTasks& unit, Task& task, pid_t keeper) {
  running_.watch(unit, task, keeper);
  rows_changed_ = true;
}

void Supervisor::collect(UnitTasks& unit, Task& task) {
  const AttemptInfo info = launch::read_attempt(*task.job, task.status.attempt);
  if (info.phase == AttemptPhase::running) {
    watch(unit, task, info.keeper);
    return;
  }
  running_.remove(task);
  rows_changed_ = true;
  if (info.phase == AttemptPhase::fresh) {
    JobStatus status = task.status;
    status.state = JobState::pending;
    status.attempt = std::max<std::int64_t>(status.attempt - 1, 0);
    set_state(unit, task, status);
    postpone(unit, task, "its keeper was killed before it began");
    return;
  }
  settle(unit, task, info.status);
}

void Supervisor::settle(const UnitTasks& unit, Task& task, const JobStatus& attempt) {
  JobStatus status = launch::after_attempt(*task.job, task.status, attempt);
  if (!launch::is_final(status.state)) {
    if (task.told_to_end) status.state = JobState::cancelled;
    if (launch::was_short(attempt)) {
      pause(task);
    } else {
      task.short_runs = 0;
    }
  }
  set_state(unit, task, status);
  const bool has_failed = status.state == JobState::failed || status.state == JobState::lost;
  if (!has_failed || !options_.fail_fast) return;
  const std::string why = "fail_fast: job '" + task.job->name + "' of unit " +
                          std::to_string(unit.unit.wid) + " has failed";
  for (UnitTasks& other : units_) cancel(other, why);
}

bool Supervisor::is_done() {
  const auto has_open = [](const UnitTasks* unit) { return unit->is_open(); };
  if (std::any_of(order_.begin() + static_cast<std::ptrdiff_t>(first_open_), order_.end(),
                  has_open)) {
    return false;
  }
  // Units may have been added just now.
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
      for (const Task& task : order_[i]->tasks) {
        if (!task.runs && task.not_before > now) {
          try_again_at_ = std::min(try_again_at_, task.not_before);
        }
      }
    }
  }
  Clock::time_point until = std::min(now + kLongestWait, try_again_at_);
  if (has_news_) until = std::min(until, read_at_ + 20 * read_took_);
  if (running_.has_unknown_keeper()) until = std::min(until, now + kSoon);
  // Rounded up: to wake early would be to wake twice.
  const auto left = std::chrono::ceil<milliseconds>(until - now).count();
  return std::max(0, static_cast<int>(left));
}

void Supervisor::wait(int wake_fd) {
  // While it waits for room, ends of other experiments' jobs are news.
  std::array files{pollfd{wake_fd, POLLIN, 0}, pollfd{ticket_ ? ledger_.news_fd() : -1, POLLIN, 0}};
  const RunningTasks::Ended ended = running_.wait(files, wait_milliseconds());
  if (ended.is_quiet || files[0].revents != 0) has_news_ = true;
  ledger_.take_news();
  for (const RunningTasks::Running& one : ended.tasks) collect(*one.unit, *one.task);
}

}  // namespace trivet::local
