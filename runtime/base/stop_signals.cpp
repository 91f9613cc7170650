// SPDX-License-Identifier: Apache-2.0
#include "base/stop_signals.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <string_view>

#include "base/process_end.h"

namespace trivet {
namespace {

constexpr std::array kSignals = {SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU, SIGHUP};
constexpr int kInterrupted = 130, kPreempted = 75;

// A handler may only use lock-free atomics.
std::atomic<int> first_signal{0};
std::atomic<int> interrupts{0};
std::atomic<double> first_term{0};  // time of arrival on a monotonic clock; 0: not yet
static_assert(std::atomic<double>::is_always_lock_free);
static_assert(std::atomic<int>::is_always_lock_free);

std::array<struct sigaction, kSignals.size()> previous;
std::array<bool, kSignals.size()> installed{};

double now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

bool is_second_term() {
  double none = 0;
  return !first_term.compare_exchange_strong(none, now()) && now() - none >= kSameRequest;
}

// The exit code of a request to stop says that the run has saved.
void tell_unsaved(std::string_view text) {
  (void)!::write(STDERR_FILENO, text.data(), text.size());
}

extern "C" void trivet_stop_signal(int number) {
  int none = 0;
  first_signal.compare_exchange_strong(none, number);
  if (number == SIGINT && interrupts.fetch_add(1) > 0) {
    // The live line may be on the screen: the shell's prompt must go below it.
    if (::isatty(STDOUT_FILENO) != 0) (void)!::write(STDOUT_FILENO, "\n", 1);
    tell_unsaved("trivet: ended by a second SIGINT, before it had saved\n");
    end_process(kInterrupted);
  }
  if (number == SIGTERM && is_second_term()) {
    tell_unsaved("trivet: ended by a second SIGTERM, before it had saved\n");
    end_process(kPreempted);
  }
}

}  // namespace

StopSignals::StopSignals() {
  first_signal = 0;
  interrupts = 0;
  first_term = 0;
  // A write past the file size limit is an error to report, like a full disk.
  ::signal(SIGXFSZ, SIG_IGN);
  // A closed reader (a pager, head) must not end the run.
  ::signal(SIGPIPE, SIG_IGN);
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], nullptr, &previous[i]);
    installed[i] = !(kSignals[i] == SIGHUP && previous[i].sa_handler == SIG_IGN);
    if (!installed[i]) continue;
    struct sigaction action = {};
    action.sa_handler = trivet_stop_signal;
    action.sa_flags = SA_RESTART;
    ::sigemptyset(&action.sa_mask);
    ::sigaction(kSignals[i], &action, nullptr);
  }
}

StopSignals::~StopSignals() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    if (installed[i]) ::sigaction(kSignals[i], &previous[i], nullptr);
  }
}

bool StopSignals::requested() const noexcept {
  return signal() != 0;
}

int StopSignals::signal() const noexcept {
  return first_signal.load(std::memory_order_relaxed);
}

int StopSignals::exit_code() const noexcept {
  if (signal() == 0) return 0;
  return signal() == SIGINT ? kInterrupted : kPreempted;
}

const char* StopSignals::name() const noexcept {
  switch (signal()) {
    case SIGINT:
      return "SIGINT";
    case SIGTERM:
      return "SIGTERM";
    case SIGUSR1:
      return "SIGUSR1";
    case SIGUSR2:
      return "SIGUSR2";
    case SIGXCPU:
      return "SIGXCPU";
    case SIGHUP:
      return "SIGHUP";
    default:
      return "no signal";
  }
}

}  // namespace trivet
