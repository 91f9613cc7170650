// SPDX-License-Identifier: Apache-2.0
#include "trivet/os/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <optional>
#include <system_error>

#include "trivet/error.h"
#include "trivet/os/file.h"

extern char** environ;

namespace trivet {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostPrinted = std::size_t{256} << 20;

[[noreturn]] void fail(const std::string& action, int number) {
  throw RunError("cannot " + action + ": " + std::generic_category().message(number));
}

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail("make a pipe", errno);
    read = UniqueFd(ends[0]);
    write = UniqueFd(ends[1]);
  }
  UniqueFd read, write;
};

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// Everything that the child needs, made before the fork: it may not allocate.
struct Child {
  std::vector<char*> argv, environment;
  pid_t parent;
  int out, errors, failure;

  [[noreturn]] void become() const {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(127);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null >= 0 && ::dup2(null, 0) >= 0 && ::dup2(out, 1) >= 0 && ::dup2(errors, 2) >= 0) {
      ::execvpe(argv[0], argv.data(), environment.size() > 1 ? environment.data() : environ);
    }
    const int number = errno;
    (void)!::write(failure, &number, sizeof number);
    ::_exit(127);
  }
};

class RunningChild {
 public:
  RunningChild(pid_t child, Pipe& out, Pipe& errors)
      : child_(child),
        end_(static_cast<int>(::syscall(SYS_pidfd_open, child, 0))),
        pipes_{&out, &errors} {}
  RunningChild(const RunningChild&) = delete;
  RunningChild& operator=(const RunningChild&) = delete;
  ~RunningChild() {
    if (child_ == 0) return;
    kill();
    wait();
  }

  // Until it has ended, or the time is up. Later output of its own children is ignored.
  ProgramResult finish(double timeout_seconds) {
    const auto start = Clock::now();
    while (true) {
      int wait_ms = -1;
      if (timeout_seconds > 0) {
        const double left =
            timeout_seconds - std::chrono::duration<double>(Clock::now() - start).count();
        if (left <= 0) {
          result_.timed_out = true;
          kill();
          break;
        }
        wait_ms = static_cast<int>(std::min(left * 1000 + 1, 1e9));
      }
      if (read_some(wait_ms)) break;
    }
    result_.exit_code = wait();
    // Its output before its end is complete.
    while (!read_some(0) && any_came_) {
    }
    return std::move(result_);
  }

 private:
  // True once it has ended.
  bool read_some(int wait_ms) {
    std::array<pollfd, 3> files{pollfd{pipes_[0]->read.get(), POLLIN, 0},
                                pollfd{pipes_[1]->read.get(), POLLIN, 0},
                                pollfd{child_ == 0 ? -1 : end_.get(), POLLIN, 0}};
    any_came_ = false;
    if (::poll(files.data(), files.size(), wait_ms) < 0) return false;
    std::array<std::string*, 2> texts{&result_.out, &result_.errors};
    for (std::size_t i = 0; i < pipes_.size(); ++i) {
      if (files[i].revents != 0) read_from(*pipes_[i], *texts[i]);
    }
    const bool all_closed = pipes_[0]->read.get() < 0 && pipes_[1]->read.get() < 0;
    return files[2].revents != 0 || (end_.get() < 0 && all_closed);
  }

  void read_from(Pipe& pipe, std::string& text) {
    std::array<char, 65536> part;
    const ssize_t size = ::read(pipe.read.get(), part.data(), part.size());
    if (size > 0) {
      any_came_ = true;
      text.append(part.data(), static_cast<std::size_t>(size));
      if (text.size() > kMostPrinted) throw RunError("a program prints more than 256 MiB");
    } else if (size == 0 || errno != EINTR) {
      pipe.read = UniqueFd();
    }
  }

  void kill() const { ::kill(-child_, SIGKILL); }

  int wait() {
    int status = 0;
    while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) {
    }
    child_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  pid_t child_;
  UniqueFd end_;
  std::array<Pipe*, 2> pipes_;
  ProgramResult result_;
  bool any_came_ = false;
};

}  // namespace

ProgramResult run_program(const std::vector<std::string>& argv, const ProgramOptions& options) {
  Pipe out, errors, failure;
  const Child child{pointers_to(argv),  pointers_to(options.environment),
                    ::getpid(),         out.write.get(),
                    errors.write.get(), failure.write.get()};
  const pid_t pid = ::fork();
  if (pid < 0) fail("make a process for " + argv[0], errno);
  if (pid == 0) child.become();
  RunningChild running(pid, out, errors);
  // Also here: the child may not have come to it when it is to be killed.
  ::setpgid(pid, pid);
  for (Pipe* pipe : {&out, &errors, &failure}) pipe->write = UniqueFd();
  int number = 0;
  ssize_t size = 0;
  do {
    size = ::read(failure.read.get(), &number, sizeof number);
  } while (size < 0 && errno == EINTR);
  if (size == sizeof number) fail("start '" + argv[0] + "'", number);
  return running.finish(options.timeout_seconds);
}

}  // namespace trivet
