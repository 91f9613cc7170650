// SPDX-License-Identifier: Apache-2.0
#include "trivet/launch/attempt.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <system_error>

#include "launch/attempt_files.h"
#include "trivet/os/process.h"

namespace trivet::launch {
namespace {

namespace fs = std::filesystem;

// A process needs a while until it can handle the signal to save. A process that ends before has
// done nothing that could fail.
bool had_hardly_begun(const EndRecord& end, const AttemptInfo& info) {
  constexpr double kBeginning = 1;
  return end.signal == SIGTERM && end.time - info.status.started < kBeginning;
}

JobState state_after(const EndRecord& end, const AttemptInfo& info) {
  if (end.reason == kReasonCancelled) return JobState::cancelled;
  if (end.reason == kReasonPreempted) return JobState::preempted;
  if (end.reason == kReasonOutOfTime && had_hardly_begun(end, info)) return JobState::preempted;
  // A job that saves and ends well when its time is up has not done its work.
  if (end.reason == kReasonTimeLimit) return JobState::failed;
  // Whatever the job makes of the loss of a process: what it was to do is not done.
  if (end.reason.starts_with(kReasonMemoryLimit)) return JobState::failed;
  if (end.reason == kReasonNotDone) return JobState::failed;
  if (end.exit_code == kExitPreempted) return JobState::preempted;
  if (end.exit_code == 0 && end.reason != kReasonOutOfTime) return JobState::completed;
  return JobState::failed;
}

void set_start(AttemptInfo& info, const std::optional<StartRecord>& start) {
  if (!start) return;
  info.status.started = info.status.time = start->time;
  info.status.host = start->host;
  info.processes = start->processes;
}

void set_end(AttemptInfo& info, const EndRecord& end) {
  info.phase = AttemptPhase::ended;
  info.status.state = state_after(end, info);
  info.status.exit_code = end.exit_code;
  info.status.signal = end.signal;
  info.status.detail = end.reason;
  info.status.time = end.time;
  if (info.status.host.empty()) info.status.host = end.host;
}

bool is_restarted(const StartRecord& start) {
  return start.host == host_name() && start.boot_id != boot_id();
}

void set_lost(AttemptInfo& info, const StartRecord& start) {
  info.phase = AttemptPhase::lost;
  info.status.state = JobState::lost;
  info.status.time = unix_time();
  info.status.detail = is_restarted(start) ? start.host + " was restarted while it ran"
                                           : "it was killed together with its shim";
}

// Once, for a process that is what it was: the descriptor cannot come to mean another.
void signal_process(pid_t pid, std::int64_t ticks, int signal) {
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!process && errno == ESRCH) return;
  if (process && start_ticks(pid) != ticks) return;
  if (process && (::syscall(SYS_pidfd_send_signal, process.get(), signal, nullptr, 0) == 0 ||
                  errno == ESRCH)) {
    return;
  }
  throw RunError("cannot signal process " + std::to_string(pid) + ": " +
                 std::generic_category().message(errno));
}

JobStatus again_or(JobState final_state, const Job& job, JobStatus status) {
  const bool hopeless =
      status.exit_code == kExitConfigError || status.exit_code == kExitPluginError;
  const bool again = !hopeless && status.failures < job.retries;
  ++status.failures;
  status.state = again ? JobState::pending : final_state;
  return status;
}

}  // namespace

RetryError::RetryError(const RetryError&) = default;
RetryError::~RetryError() = default;

AttemptInfo read_attempt(const Job& job, std::int64_t attempt) {
  const fs::path directory = attempt_directory(job, attempt);
  AttemptInfo info;
  info.status.attempt = attempt;
  // In this order: the lock is taken before started.json is written, and free after exit.json is.
  const std::optional<StartRecord> start = read_start(directory);
  const bool locked = is_locked(directory);
  set_start(info, start);
  if (const std::optional<EndRecord> end = read_end(directory)) {
    set_end(info, *end);
  } else if (locked && !(start && is_restarted(*start))) {
    info.phase = AttemptPhase::running;
    info.status.state = JobState::running;
    if (start && start->is_here()) {
      info.shim = start->shim;
      info.process = start->process;
    }
  } else if (start) {
    set_lost(info, *start);
  }
  return info;
}

std::int64_t last_attempt(const Job& job) {
  std::int64_t last = 0;
  std::error_code error;
  for (fs::directory_iterator entry(job.directory, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::int64_t number = 0;
    const auto [stop, failure] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (failure == std::errc() && stop == name.data() + name.size() && number > last) {
      last = number;
    }
  }
  const bool is_none =
      error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory;
  if (error && !is_none) {
    throw_errno("read", job.directory, error.value());
  }
  return last;
}

void end_attempt(const Job& job, std::int64_t attempt, std::string_view reason,
                 double grace_seconds) {
  const fs::path directory = attempt_directory(job, attempt);
  if (read_attempt(job, attempt).phase != AttemptPhase::running) return;
  // First the request: a shim looks for it after started.json, so one of the two sees the other.
  write_end_request(directory, {std::string(reason), grace_seconds});
  const std::optional<StartRecord> start = read_start(directory);
  if (start && start->is_here()) signal_process(start->shim, start->shim_ticks, SIGTERM);
}

JobStatus after_attempt(const Job& job, const JobStatus& before, const JobStatus& attempt) {
  JobStatus status = attempt;
  status.failures = before.failures;
  if (attempt.state == JobState::failed || attempt.state == JobState::lost) {
    return again_or(attempt.state, job, status);
  }
  return status;
}

std::optional<JobStatus> unrecorded_status(const Job& job, const JobStatus& recorded) {
  const bool said_to_run = recorded.state == JobState::running;
  const std::int64_t last = std::max(last_attempt(job), recorded.attempt);
  // The end of an attempt that is recorded, and not as running, has been counted.
  if (last == 0 || (last == recorded.attempt && !said_to_run)) return std::nullopt;
  const AttemptInfo info = read_attempt(job, last);
  switch (info.phase) {
    case AttemptPhase::running: {
      if (said_to_run && last == recorded.attempt) return std::nullopt;
      JobStatus status = info.status;
      status.failures = recorded.failures;
      return status;
    }
    case AttemptPhase::fresh: {
      // A shim that was killed before its job began: the same attempt is made again.
      if (!said_to_run) return std::nullopt;
      JobStatus status = recorded;
      status.state = JobState::pending;
      status.attempt = std::max<std::int64_t>(last - 1, 0);
      status.time = unix_time();
      return status;
    }
    default:
      return after_attempt(job, recorded, info.status);
  }
}

bool was_short(const JobStatus& attempt) {
  constexpr double kShortSeconds = 10;
  return attempt.time - attempt.started < kShortSeconds;
}

double pause_after(int short_runs) {
  constexpr double kFirst = 0.1, kLongest = 60;
  return short_runs > 9 ? kLongest : kFirst * (1 << std::max(0, short_runs - 1));
}

}  // namespace trivet::launch
