// SPDX-License-Identifier: Apache-2.0
// Signals request a stop and determine the exit code.
#include "base/stop_signals.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <string>

#include <catch2/catch.hpp>

using trivet::StopSignals;

namespace {

// Handles a signal with `handler` while this object exists. The tests may start with ignored
// signals (nohup).
class Handling {
 public:
  Handling(int signal, void (*handler)(int)) : signal_(signal) {
    struct sigaction action = {};
    action.sa_handler = handler;
    ::sigaction(signal, &action, &before_);
  }
  ~Handling() { ::sigaction(signal_, &before_, nullptr); }
  Handling(const Handling&) = delete;
  Handling& operator=(const Handling&) = delete;

 private:
  int signal_;
  struct sigaction before_ = {};
};

}  // namespace

TEST_CASE("each stop signal has its exit code, and the first one counts") {
  struct Case {
    int signal, exit_code;
    const char* name;
  };
  for (const Case& c :
       {Case{SIGINT, 130, "SIGINT"}, Case{SIGTERM, 75, "SIGTERM"}, Case{SIGUSR1, 75, "SIGUSR1"},
        Case{SIGUSR2, 75, "SIGUSR2"}, Case{SIGXCPU, 75, "SIGXCPU"}, Case{SIGHUP, 75, "SIGHUP"}}) {
    const Handling as_usual(c.signal, SIG_DFL);
    const StopSignals signals;
    CHECK_FALSE(signals.requested());
    CHECK(signals.exit_code() == 0);
    ::raise(c.signal);
    CHECK(signals.requested());
    CHECK(signals.exit_code() == c.exit_code);
    CHECK(std::string(signals.name()) == c.name);
    ::raise(c.signal == SIGTERM ? SIGUSR1 : SIGTERM);
    CHECK(signals.signal() == c.signal);
  }
}

TEST_CASE("the previous handlers are restored") {
  struct sigaction before = {}, after = {};
  ::sigaction(SIGTERM, nullptr, &before);
  { const StopSignals signals; }
  ::sigaction(SIGTERM, nullptr, &after);
  CHECK(before.sa_handler == after.sa_handler);
}

TEST_CASE("a second SIGINT ends the process at once") {
  const pid_t child = ::fork();
  if (child == 0) {
    const StopSignals signals;
    ::raise(SIGINT);
    ::raise(SIGINT);
    ::_exit(1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WEXITSTATUS(status) == 130);
}

TEST_CASE("SIGTERM again ends the process at once, but not as part of the same request") {
  std::array<int, 2> pipe{};
  REQUIRE(::pipe(pipe.data()) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(pipe[1], STDERR_FILENO);
    const StopSignals signals;
    ::raise(SIGTERM);
    ::raise(SIGTERM);
    // A process that does not respond gets the signal until it ends.
    while (signals.requested()) {
      ::usleep(10000);
      ::raise(SIGTERM);
    }
    ::_exit(1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WEXITSTATUS(status) == 75);
  ::close(pipe[1]);
  std::array<char, 200> text{};
  CHECK(::read(pipe[0], text.data(), text.size() - 1) > 0);
  ::close(pipe[0]);
  CHECK(std::string(text.data()) == "trivet: ended by a second SIGTERM, before it had saved\n");
}

TEST_CASE("a run under nohup survives its terminal") {
  const Handling ignored(SIGHUP, SIG_IGN);
  const StopSignals signals;
  ::raise(SIGHUP);
  CHECK_FALSE(signals.requested());
}
