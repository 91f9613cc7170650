// SPDX-License-Identifier: Apache-2.0
#include "launch/shim.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <fstream>

#include <fmt/format.h>

#include "launch/changed_programs.h"
#include "trivet/os/process.h"

namespace trivet::launch {
namespace {

// What the loop waits for. The job's orphans fall to the shim, so their ends arrive here, too.
sigset_t awaited_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2}) {
    ::sigaddset(&set, signal);
  }
  return set;
}

std::chrono::steady_clock::duration duration_of(double seconds) {
  // A century: more than that does not fit a clock.
  constexpr double kLongest = 3e9;
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::chrono::duration<double>(std::min(seconds, kLongest)));
}

timespec timespec_of(std::chrono::steady_clock::duration time) {
  using std::chrono::duration_cast;
  time = std::max(time, std::chrono::steady_clock::duration::zero());
  const auto seconds = duration_cast<std::chrono::seconds>(time);
  const auto rest = duration_cast<std::chrono::nanoseconds>(time - seconds);
  return {seconds.count(), rest.count()};
}

// Waits for one of the signals; nothing when the time is up.
std::optional<siginfo_t> next_signal(
    const sigset_t& set, const std::optional<std::chrono::steady_clock::duration>& longest) {
  siginfo_t signal{};
  timespec time{};
  if (longest) time = timespec_of(*longest);
  if (::sigtimedwait(&set, &signal, longest ? &time : nullptr) < 0) return std::nullopt;
  return signal;
}

// Empty when the kernel does not tell.
std::vector<pid_t> children() {
  const std::string self = std::to_string(::getpid());
  std::ifstream file("/proc/self/task/" + self + "/children");
  std::vector<pid_t> found;
  for (pid_t child = 0; file >> child;) found.push_back(child);
  return found;
}

}  // namespace

Shim::Shim(const Job& job, std::int64_t attempt, const AttemptOptions& options,
           const JobFiles& files)
    : job_(job), directory_(attempt_directory(job, attempt)), options_(options), files_(files) {}

EndRecord Shim::run() {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  make_cgroup();
  for (const std::string& change : changed_programs(job_)) say(change);
  const JobProcess process = spawn_job(job_, directory_, options_, files_);
  process_ = process.pid;
  if (!process.cgroup_failure.empty()) go_without_cgroup(process.cgroup_failure);
  if (process.failure.empty()) {
    watch();
  } else {
    kill_rest();
    tell_failure(process.failure);
  }
  require_done();
  // Before exit.json: once an attempt has ended, nothing of it is left.
  cgroup_.reset();
  end_.time = unix_time();
  end_.host = host_name();
  write();
  return end_;
}

void Shim::make_cgroup() {
  if (options_.cgroup_parent.empty() || job_.memory_bytes <= 0) return;
  try {
    cgroup_.emplace(options_.cgroup_parent, job_.memory_bytes);
    files_.cgroup = cgroup_->entry();
  } catch (const RunError& error) {
    go_without_cgroup(error.message());
  }
}

void Shim::go_without_cgroup(const std::string& why) {
  cgroup_.reset();
  say("nothing limits the memory of this job: " + why);
}

void Shim::watch() {
  if (job_.time_limit_seconds > 0) {
    time_limit_ = Clock::now() + duration_of(job_.time_limit_seconds);
  }
  // Whoever asked before started.json was there could not tell this process.
  look_for_request();
  const sigset_t awaited = awaited_signals();
  while (!has_ended()) {
    if (const auto signal = next_signal(awaited, time_left())) on_signal(*signal);
    on_time();
  }
  kill_rest();
  if (end_.reason.empty()) end_.reason = memory_limit_hit().value_or("");
  hear_late_announcement();
}

// A cluster signals the job and its shim at once, and the job's end may be seen first.
void Shim::hear_late_announcement() {
  constexpr std::chrono::seconds kLongest{2};
  if (!end_.reason.empty()) return;
  for (const auto& [announcing, reason] : options_.end_signals) {
    if (announcing != end_.signal) continue;
    sigset_t late;
    ::sigemptyset(&late);
    ::sigaddset(&late, announcing);
    if (next_signal(late, kLongest)) end_.reason = reason;
    return;
  }
}

std::optional<Shim::Clock::duration> Shim::time_left() const {
  std::optional<Clock::time_point> next = kill_at_;
  if (time_limit_ && (!next || *time_limit_ < *next)) next = time_limit_;
  const auto left = next ? std::optional(*next - Clock::now()) : std::nullopt;
  // The kernel tells nobody that it has killed one of a job's processes and left the others.
  constexpr Clock::duration kLookAgain = std::chrono::seconds(1);
  if (!cgroup_ || cgroup_->kills_all()) return left;
  return std::min(left.value_or(kLookAgain), kLookAgain);
}

void Shim::on_signal(const siginfo_t& signal) {
  switch (signal.si_signo) {
    case SIGCHLD:
      break;
    case SIGTERM:
    case SIGINT:
      look_for_request();
      if (end_.reason.empty() && !is_announced(signal.si_signo)) {
        ::kill(-process_, signal.si_signo);
      }
      break;
    default:
      if (!is_announced(signal.si_signo)) ::kill(process_, signal.si_signo);
  }
}

bool Shim::is_announced(int signal) {
  for (const auto& [announcing, reason] : options_.end_signals) {
    if (announcing != signal) continue;
    begin_end(reason, options_.grace_seconds);
    return true;
  }
  return false;
}

void Shim::look_for_request() {
  try {
    if (const auto request = read_end_request(directory_)) {
      begin_end(request->reason, request->grace_seconds);
    }
  } catch (const RunError&) {
    // A signal without a request that can be read is passed on as it is.
  }
}

void Shim::begin_end(const std::string& reason, double grace_seconds) {
  const Clock::time_point end = Clock::now() + duration_of(grace_seconds);
  const bool is_first = end_.reason.empty();
  if (is_first) end_.reason = reason;
  if (is_first || (kill_at_ && end < *kill_at_)) kill_at_ = end;
  if (!is_first) return;
  const int signal = options_.end_signal;
  ::kill(signal == SIGTERM ? -process_ : process_, signal);
}

void Shim::on_time() {
  if (cgroup_ && !cgroup_->kills_all() && end_.reason.empty()) {
    if (const auto reason = memory_limit_hit()) begin_end(*reason, 0);
  }
  const Clock::time_point now = Clock::now();
  if (time_limit_ && now >= *time_limit_) {
    time_limit_.reset();
    begin_end(std::string(kReasonTimeLimit), options_.grace_seconds);
  }
  if (kill_at_ && now >= *kill_at_) {
    kill_at_.reset();
    ::kill(-process_, SIGKILL);
  }
}

std::optional<std::string> Shim::memory_limit_hit() const {
  if (!cgroup_ || !cgroup_->has_killed()) return std::nullopt;
  constexpr double kMebi = 1 << 20, kTenths = 10;
  const double mebibytes =
      std::round(static_cast<double>(cgroup_->limit_bytes()) / kMebi * kTenths) / kTenths;
  return fmt::format("{} of {} MiB", kReasonMemoryLimit, mebibytes);
}

// Of the job's first process, which stays a zombie; orphans that have fallen to this process are
// reaped as well.
bool Shim::has_ended() {
  while (true) {
    siginfo_t child{};
    if (::waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT) != 0) return errno == ECHILD;
    if (child.si_pid == 0) return false;
    if (child.si_pid == process_) return true;
    ::waitpid(child.si_pid, nullptr, 0);
  }
}

// The zombie keeps the number of its process group from being used again while that is killed.
void Shim::kill_rest() {
  ::kill(-process_, SIGKILL);
  int status = 0;
  if (::waitpid(process_, &status, 0) == process_) take_status(status);
  while (true) {
    const pid_t ended = ::waitpid(-1, nullptr, WNOHANG);
    if (ended > 0) continue;
    if (ended < 0) return;
    const std::vector<pid_t> left = children();
    if (left.empty()) return;
    for (const pid_t child : left) ::kill(child, SIGKILL);
    ::waitpid(-1, nullptr, 0);
  }
}

void Shim::take_status(int status) {
  if (WIFEXITED(status)) {
    end_.exit_code = WEXITSTATUS(status);
  } else {
    end_.signal = WTERMSIG(status);
  }
}

void Shim::require_done() {
  if (!job_.tells_done || end_.exit_code != 0 || !end_.reason.empty()) return;
  if (::faccessat(files_.directory, kDoneFile, F_OK, 0) == 0 || errno != ENOENT) {
    const std::string words = read_done_words(files_.directory);
    if (!words.empty()) end_.reason = std::string(kReasonEndedEarly) + words;
    return;
  }
  end_.reason = kReasonNotDone;
  say(end_.reason);
}

void Shim::tell_failure(const std::string& why) {
  end_.exit_code = 127;
  end_.signal = 0;
  end_.reason = why;
  say(why);
}

// Beside what the job says itself; a full disk is no reason to end here.
void Shim::say(const std::string& what) {
  const std::string line = "trivet: " + what + "\n";
  (void)!::write(files_.errors, line.data(), line.size());
}

// Until it succeeds: an end that nobody can read would be a job done twice. Except where it never
// will, since the directory is gone or closed.
void Shim::write() {
  while (!write_end(files_.directory, end_)) {
    if (errno == ENOENT || errno == EACCES || errno == EPERM || errno == EROFS) return;
    ::sleep(1);
  }
}

}  // namespace trivet::launch
