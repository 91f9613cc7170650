// SPDX-License-Identifier: Apache-2.0
// CrashReport where no plugin is at fault; for plugins see test/cli/crash_test.cpp.
#include "host/crash_report.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

using namespace trivet;

TEST_CASE("a crash without a faulty plugin ends the process by its signal", "[nosan]") {
  for (const int number : {SIGSEGV, SIGABRT}) {
    const pid_t child = ::fork();
    if (child == 0) {
      for (const int crash : {SIGSEGV, SIGABRT}) ::signal(crash, SIG_DFL);
      const rlimit none = {0, 0};
      ::setrlimit(RLIMIT_CORE, &none);
      const CrashReport report;
      ::raise(number);
      ::_exit(0);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == number);
  }
}

TEST_CASE("the handlers from before are restored") {
  const auto handler = [] {
    struct sigaction action = {};
    ::sigaction(SIGSEGV, nullptr, &action);
    return action.sa_handler;
  };
  const auto before = handler();
  stack_t stack_before = {}, stack_after = {};
  ::sigaltstack(nullptr, &stack_before);
  {
    const CrashReport report;
    CHECK(handler() != before);
  }
  CHECK(handler() == before);
  ::sigaltstack(nullptr, &stack_after);
  CHECK(stack_after.ss_sp == stack_before.ss_sp);
  CHECK(stack_after.ss_flags == stack_before.ss_flags);
}
