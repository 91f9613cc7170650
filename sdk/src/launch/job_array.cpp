// SPDX-License-Identifier: Apache-2.0
#include "trivet/launch/job_array.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <optional>
#include <string_view>

#include "trivet/error.h"
#include "trivet/os/process.h"

extern char** environ;

namespace trivet::launch {
namespace {

constexpr int kExitTimeLimit = 124;  // as timeout(1) has it
constexpr int kExitCancelled = 128 + SIGTERM;

const Value& member(const Value& table, std::string_view name, bool (Value::*is_kind)() const) {
  const Value& found = table.at(name, "the file of a job array");
  if ((found.*is_kind)()) return found;
  throw RunError("the file of a job array has another kind of value in '" + std::string(name) +
                 "'");
}

bool is_passed(std::string_view name, const std::vector<std::string>& passed) {
  return std::any_of(passed.begin(), passed.end(), [&](std::string_view pattern) {
    if (!pattern.ends_with('*')) return name == pattern;
    return name.starts_with(pattern.substr(0, pattern.size() - 1));
  });
}

// Signals stay pending until a shim takes them, so that none ends this process between attempts.
class HeldSignals {
 public:
  HeldSignals() {
    ::sigemptyset(&held_);
    for (const int signal : kTaskSignals) ::sigaddset(&held_, signal);
    ::pthread_sigmask(SIG_BLOCK, &held_, &before_);
  }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;
  ~HeldSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  // Waits; true as soon as one of them comes.
  bool wait(double seconds) const {
    timespec time{};
    time.tv_sec = static_cast<time_t>(seconds);
    time.tv_nsec = static_cast<long>((seconds - static_cast<double>(time.tv_sec)) * 1e9);
    while (true) {
      if (::sigtimedwait(&held_, nullptr, &time) >= 0) return true;
      if (errno != EINTR) return false;
    }
  }

 private:
  sigset_t held_{}, before_{};
};

int exit_code_of(const JobStatus& status) {
  switch (status.state) {
    case JobState::completed:
      return 0;
    case JobState::cancelled:
      return kExitCancelled;
    case JobState::failed:
      if (status.detail == kReasonTimeLimit) return kExitTimeLimit;
      if (status.exit_code.value_or(0) != 0) return *status.exit_code;
      return status.signal != 0 ? 128 + status.signal : 1;
    case JobState::preempted:
    case JobState::queued:
    case JobState::pending:
      return kExitPreempted;
    default:
      return 1;
  }
}

class JobRunner {
 public:
  JobRunner(UnitRecords& records, std::int64_t wid, const Job& job, const JobRunOptions& options)
      : records_(records), wid_(wid), job_(job), options_(options) {}

  int run() {
    const HeldSignals signals;
    records_.refresh();
    status_ = records_.status(wid_, job_.name);
    // Whoever recorded a lost job only knew that its attempt had ended: it starts again, as it does
    // if nobody has looked.
    if (status_.state == JobState::lost) status_.state = JobState::queued;
    if (is_final(status_.state)) return exit_code_of(status_);
    take_up();
    int short_runs = 0;
    while (!is_final(status_.state)) {
      if (cancel_if_asked()) break;
      // It would get the signal before it could have begun to listen, and die of it.
      if (signals.wait(0)) {
        wait_for_another_start();
        break;
      }
      const JobStatus attempt = run_once();
      const bool again = status_.state == JobState::pending || status_.state == JobState::queued;
      if (!again || attempt.detail == kReasonOutOfTime || options_.retries_elsewhere) break;
      short_runs = was_short(attempt) ? short_runs + 1 : 0;
      if (short_runs > 0 && signals.wait(pause_after(short_runs))) break;
    }
    return exit_code_of(status_);
  }

 private:
  // What became of an attempt that nobody could record.
  void take_up() {
    const std::int64_t last = std::max(last_attempt(job_), status_.attempt);
    const AttemptInfo info = last > 0 ? read_attempt(job_, last) : AttemptInfo();
    if (info.phase == AttemptPhase::running) {
      throw RunError("job '" + job_.name + "' of unit " + std::to_string(wid_) +
                     " runs already, in " + (job_.directory / std::to_string(last)).string());
    }
    if (info.phase == AttemptPhase::lost) {
      status_.attempt = last;
      return;
    }
    if (const std::optional<JobStatus> now = unrecorded_status(job_, status_)) record(*now);
  }

  bool cancel_if_asked() {
    records_.refresh();
    if (!records_.is_cancelled(wid_)) return false;
    JobStatus status = status_;
    status.state = JobState::cancelled;
    status.time = unix_time();
    record(status);
    return true;
  }

  // What the attempt alone tells; status_ is what becomes of the job.
  JobStatus run_once() {
    JobStatus running{.state = JobState::running,
                      .attempt = status_.attempt + 1,
                      .failures = status_.failures,
                      .host = host_name(),
                      .detail = options_.detail};
    running.time = running.started = unix_time();
    record(running);
    JobStatus attempt = running;
    try {
      run_attempt(job_, running.attempt, options_.attempt);
      attempt = read_attempt(job_, running.attempt).status;
    } catch (const RetryError& error) {
      return postpone(running, error.message());
    } catch (const RunError& error) {
      attempt.state = JobState::failed;
      attempt.detail = error.message();
      attempt.time = unix_time();
    }
    JobStatus status = after_attempt(job_, running, attempt);
    records_.refresh();
    if (!is_final(status.state) && records_.is_cancelled(wid_)) status.state = JobState::cancelled;
    record(status);
    return attempt;
  }

  void wait_for_another_start() {
    if (status_.state == JobState::preempted) return;
    JobStatus status = status_;
    status.state = JobState::queued;
    status.detail = "asked to stop before it started";
    status.time = unix_time();
    record(status);
  }

  // Nothing is wrong with the job: what it lacks may be there in a while.
  JobStatus postpone(JobStatus status, const std::string& why) {
    status.state = JobState::queued;
    --status.attempt;
    status.detail = why;
    status.time = unix_time();
    record(status);
    return status;
  }

  void record(const JobStatus& status) {
    status_ = status;
    const JobEvent event{wid_, job_.name, status};
    records_.record({&event, 1});
  }

  UnitRecords& records_;
  const std::int64_t wid_;
  const Job& job_;
  const JobRunOptions& options_;
  JobStatus status_;
};

}  // namespace

Value to_value(const JobArray& array) {
  Value wids = Value::array(), env = Value::table();
  for (const std::int64_t wid : array.wids) wids.push_back(wid);
  for (const auto& [name, value] : array.env) env.set(name, value);
  return Value::table({{"experiment", array.experiment.string()},
                       {"job", array.job},
                       {"wids", wids},
                       {"grace_seconds", array.grace_seconds},
                       {"env", env},
                       {"pass_env", Value::array_of(array.pass_env)},
                       {"starter", Value::array_of(array.starter)},
                       {"end_signal", std::int64_t{array.end_signal}}});
}

JobArray job_array_from(const Value& value) {
  JobArray array;
  array.experiment = member(value, "experiment", &Value::is_string).as_string();
  array.job = member(value, "job", &Value::is_string).as_string();
  for (const Value& wid : member(value, "wids", &Value::is_array).items()) {
    array.wids.push_back(wid.as_integer());
  }
  const Value* grace = value.find("grace_seconds");
  if (grace != nullptr && (grace->is_float() || grace->is_integer())) {
    array.grace_seconds = grace->as_float();
  }
  for (const Value::Member& entry : member(value, "env", &Value::is_table).members()) {
    array.env.emplace_back(entry.key, entry.value.as_string());
  }
  for (const Value& name : member(value, "pass_env", &Value::is_array).items()) {
    array.pass_env.push_back(name.as_string());
  }
  // Older files lack them.
  if (const Value* starter = value.find("starter")) {
    for (const Value& word : starter->items()) array.starter.push_back(word.as_string());
  }
  if (const Value* signal = value.find("end_signal")) {
    const auto is_same = [&](int known) { return signal->as_integer() == known; };
    const auto known = std::ranges::find_if(kTaskSignals, is_same);
    if (known != kTaskSignals.end()) array.end_signal = *known;
  }
  return array;
}

Job for_nodes(Job job, std::int64_t nodes) {
  if (job.process_counts.empty()) return job;
  const std::int64_t most = nodes * (job.replicas / job.nodes);
  std::int64_t chosen = job.process_counts.front();
  for (const std::int64_t count : job.process_counts) {
    if (count <= most) chosen = count;
  }
  return with_processes(std::move(job), chosen);
}

Job with_starter(Job job, const JobArray& array) {
  if (job.replicas == 1) return job;
  std::vector<std::string> starter = array.starter;
  const auto fill = [&](std::string_view name, std::int64_t number) {
    for (std::string& word : starter) {
      const std::size_t at = word.find(name);
      if (at != std::string::npos) word.replace(at, name.size(), std::to_string(number));
    }
  };
  fill("{nodes}", job.nodes);
  fill("{replicas}", job.replicas);
  fill("{replicas_on_node}", std::min(job.replicas, (job.replicas + job.nodes - 1) / job.nodes));
  job.argv.insert(job.argv.begin(), starter.begin(), starter.end());
  return job;
}

int run_job(UnitRecords& records, std::int64_t wid, const Job& job, const JobRunOptions& options) {
  return JobRunner(records, wid, job, options).run();
}

AttemptOptions attempt_options(const JobArray& array) {
  AttemptOptions options{
      .grace_seconds = array.grace_seconds, .end_signal = array.end_signal, .env = array.env};
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || !is_passed(text.substr(0, equals), array.pass_env)) {
      continue;
    }
    options.env.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  options.end_signals = {{SIGTERM, std::string(kReasonPreempted)},
                         {SIGUSR1, std::string(kReasonOutOfTime)}};
  return options;
}

}  // namespace trivet::launch
