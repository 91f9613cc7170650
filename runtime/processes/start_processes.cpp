// SPDX-License-Identifier: Apache-2.0
#include "processes/start_processes.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/process_info.h"
#include "base/stop_signals.h"
#include "trivet/error.h"
#include "trivet/os/file.h"
#include "trivet/text/strings.h"

namespace trivet {
namespace {

constexpr double kGraceSeconds = 10;
// The others cannot save, and one that waits for the killed one to come up would not notice.
constexpr double kGraceAfterKill = 3;
constexpr int kNotStarted = 127;  // as a shell has it
// Exit codes of a run that was asked to stop (base/stop_signals.h).
constexpr int kInterrupted = 130, kPreempted = 75;
constexpr int kSignal = 128;  // 128 + N: ended by signal N

[[noreturn]] void fail(const std::string& what, const std::string& program) {
  throw RunError(what + " " + program + ": " + std::strerror(errno));
}

std::vector<char*> argv_of(const std::vector<std::string>& command) {
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  return argv;
}

std::vector<std::string> environment_of() {
  std::vector<std::string> environment;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    environment.emplace_back(*variable);
  }
  return environment;
}

// With the three variables of collective.h.
std::vector<std::string> environment_of(int rank, int count, int world_fd) {
  const std::array<std::pair<std::string, int>, 3> variables = {
      {{"TRIVET_RANK=", rank}, {"TRIVET_PROCESSES=", count}, {"TRIVET_WORLD_FD=", world_fd}}};
  std::vector<std::string> environment = environment_of();
  for (const auto& [name, value] : variables) {
    const std::string& given = name;
    std::erase_if(environment, [&](const std::string& text) { return text.starts_with(given); });
    environment.push_back(name + std::to_string(value));
  }
  return environment;
}

constexpr std::array kStopSignals = {SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU, SIGHUP};

// Blocks the signals that end the group, which are waited for beside those of the processes.
class WaitedSignals {
 public:
  explicit WaitedSignals(StopsBy stops_by) {
    ::sigemptyset(&set_);
    for (const int number : {SIGINT, SIGTERM, SIGCHLD}) ::sigaddset(&set_, number);
    if (stops_by == StopsBy::sigusr1) {
      for (const int number : kStopSignals) ::sigaddset(&set_, number);
    }
    ::sigprocmask(SIG_BLOCK, &set_, &before_);
  }
  ~WaitedSignals() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }
  WaitedSignals(const WaitedSignals&) = delete;
  WaitedSignals& operator=(const WaitedSignals&) = delete;

  // What processes start with.
  const sigset_t& before() const { return before_; }
  // The next signal, or 0 after some time without one.
  int wait() const {
    const struct timespec time = {.tv_sec = 0, .tv_nsec = 100'000'000};
    const int number = ::sigtimedwait(&set_, nullptr, &time);
    return number > 0 ? number : 0;
  }

 private:
  sigset_t set_{};
  sigset_t before_{};
};

class Processes {
 public:
  explicit Processes(StopsBy stops_by) : stops_by_(stops_by), signals_(stops_by) {}
  ~Processes() {
    for (const pid_t pid : pids_) {
      if (pid == 0) continue;
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
    }
  }
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  void start(const std::vector<std::string>& command, const std::vector<std::string>& environment) {
    const std::vector<char*> argv = argv_of(command);
    const std::vector<char*> envp = argv_of(environment);
    const pid_t parent = ::getpid();
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent) ::_exit(1);
      ::sigprocmask(SIG_SETMASK, &signals_.before(), nullptr);
      // A terminal's Ctrl-C reaches them from here alone.
      if (stops_by_ == StopsBy::sigusr1) ::setpgid(0, 0);
      ::execvpe(argv.front(), argv.data(), envp.data());
      ::_exit(kNotStarted);
    }
    if (pid < 0) fail("cannot start", command.front());
    pids_.push_back(pid);
  }

  // Waits for the ends.
  int run() {
    while (collect() > 0) {
      const int number = signals_.wait();
      if (number != 0 && number != SIGCHLD) stop(number);
      if (code_ == 0) continue;
      const double grace = code_ > kSignal ? kGraceAfterKill : kGraceSeconds;
      if (steady_seconds() - failed_at_ > grace) signal_all(SIGKILL);
    }
    if (stops_by_ == StopsBy::same_signal || code_ == 0) return code_;
    // They got another signal than this process, or were killed.
    if (stop_ != 0 && (code_ == kPreempted || code_ > kSignal)) {
      return stop_ == SIGINT ? kInterrupted : kPreempted;
    }
    return code_ > kSignal ? 1 : code_;
  }

 private:
  void stop(int number) {
    const double now = steady_seconds();
    if (!stopped_at_) {
      stopped_at_ = now;
      stop_ = number;
      signal_all(stops_by_ == StopsBy::sigusr1 ? SIGUSR1 : number);
    } else if ((number == SIGINT || number == SIGTERM) && now - *stopped_at_ >= kSameRequest) {
      signal_all(SIGKILL);
    }
  }

  void signal_all(int number) const {
    for (const pid_t pid : pids_) {
      if (pid != 0) ::kill(pid, number);
    }
  }

  // The number of processes that have not ended.
  std::size_t collect() {
    std::size_t left = 0;
    for (pid_t& pid : pids_) {
      if (pid == 0) continue;
      int status = 0;
      if (::waitpid(pid, &status, WNOHANG) != pid) {
        left += 1;
        continue;
      }
      pid = 0;
      const int code = WIFEXITED(status) ? WEXITSTATUS(status) : kSignal + WTERMSIG(status);
      if (code_ != 0 || code == 0) continue;
      code_ = code;
      failed_at_ = steady_seconds();
    }
    return left;
  }

  const StopsBy stops_by_;
  WaitedSignals signals_;
  std::optional<double> stopped_at_{};  // since when a signal has been handed on
  int stop_ = 0;                        // that signal
  std::vector<pid_t> pids_{};
  int code_ = 0;
  double failed_at_ = 0;
};

}  // namespace

int start_processes(const tv_collective& engine, int count, const std::vector<std::string>& command,
                    StopsBy stops_by) {
  const char* words = engine.launcher != nullptr ? engine.launcher(count) : nullptr;
  Processes group(stops_by);
  if (words == nullptr) {
    const UniqueFd world(::memfd_create("trivet-world", 0));
    if (!world) fail("no memory for the processes of", command.front());
    for (int rank = 0; rank < count; ++rank) {
      group.start(command, environment_of(rank, count, world.get()));
    }
    return group.run();
  }
  std::vector<std::string> launch;
  for (const std::string_view word : split(words, ' ')) launch.emplace_back(word);
  const std::string launcher = launch.front();
  launch.insert(launch.end(), command.begin(), command.end());
  group.start(launch, environment_of());
  const int code = group.run();
  if (code == kNotStarted) {
    throw RunError("cannot start " + launcher, {.hint = "is it installed, and on PATH?"});
  }
  return code;
}

}  // namespace trivet
