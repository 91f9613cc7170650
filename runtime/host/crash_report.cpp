// SPDX-License-Identifier: Apache-2.0
#include "host/crash_report.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "trivet/error.h"
#include "trivet/registry.h"

namespace trivet {
namespace {

struct Crash {
  int signal;
  const char* name;
};
constexpr std::array kCrashes = {
    Crash{SIGSEGV, " (SIGSEGV)"}, Crash{SIGBUS, " (SIGBUS)"},   Crash{SIGFPE, " (SIGFPE)"},
    Crash{SIGILL, " (SIGILL)"},   Crash{SIGABRT, " (SIGABRT)"},
};
constexpr std::size_t kStackSize = 64 << 10;  // the registers alone may take 11 kB of it

thread_local const PluginLoading* loading = nullptr;
std::array<struct sigaction, kCrashes.size()> previous_actions;
int exit_code = 0;

// Text put together without memory from the system.
class SignalSafeText {
 public:
  SignalSafeText& operator<<(const char* text) {
    const std::size_t size = std::min(std::strlen(text), sizeof buffer_ - used_);
    std::memcpy(buffer_ + used_, text, size);
    used_ += size;
    return *this;
  }
  void print() const { (void)!::write(STDERR_FILENO, buffer_, used_); }

 private:
  char buffer_[8192];
  std::size_t used_ = 0;
};

// Where this thread is in a plugin; false when it is in none. Runs in a signal handler.
bool tell(SignalSafeText& words, const char* did, const char* signal) {
  const RegistryItem* item = Registry::current();
  if (loading != nullptr) {
    const bool entry = loading->phase() == PluginLoading::Phase::entry;
    words << "error: the plugin '" << loading->name() << "' " << did << " in "
          << (entry ? "its entry" : "the static initialisers of its library") << signal
          << "\n       file " << loading->file() << "\n       key  " << loading->key();
  } else if (item != nullptr) {
    words << "error: the plugin '" << item->plugin->name.c_str() << "' " << did << " in its "
          << item->kind.c_str() << signal << "\n       file " << item->plugin->file.c_str()
          << "\n       key  " << item->key.c_str();
  } else {
    return false;
  }
  words << "\n       the fault is in the plugin: a debugger shows the place; take another version "
           "of it,\n       or a config without it\n";
  return true;
}

extern "C" void trivet_crash(int number) {
  std::size_t at = 0;
  while (at + 1 < kCrashes.size() && kCrashes[at].signal != number) ++at;
  SignalSafeText words;
  if (tell(words, "crashed", kCrashes[at].name)) {
    words.print();
    ::_exit(exit_code);
  }
  ::sigaction(number, &previous_actions[at], nullptr);
  ::raise(number);  // arrives when this handler has returned
}

// A plugin has no business to end the program, least of all with an exit code of 0.
void at_exit() {
  SignalSafeText words;
  if (!tell(words, "ended the program", "")) return;
  words.print();
  ::_exit(exit_code);
}

}  // namespace

CrashReport::CrashReport() : stack_(std::make_unique<char[]>(kStackSize)) {
  exit_code = PluginError("").exit_code();
  static const bool registered = std::atexit(at_exit) == 0;
  (void)registered;
  stack_t stack = {};
  stack.ss_sp = stack_.get();
  stack.ss_size = kStackSize;
  ::sigaltstack(&stack, &previous_stack_);
  for (std::size_t i = 0; i < kCrashes.size(); ++i) {
    struct sigaction action = {};
    action.sa_handler = trivet_crash;
    action.sa_flags = SA_ONSTACK;
    ::sigemptyset(&action.sa_mask);
    ::sigaction(kCrashes[i].signal, &action, &previous_actions[i]);
  }
}

CrashReport::~CrashReport() {
  for (std::size_t i = 0; i < kCrashes.size(); ++i) {
    ::sigaction(kCrashes[i].signal, &previous_actions[i], nullptr);
  }
  ::sigaltstack(&previous_stack_, nullptr);
}

PluginLoading::PluginLoading(std::string_view name, const std::filesystem::path& file,
                             std::string_view key)
    : name_(name), file_(file), key_(key), outer_(std::exchange(loading, this)) {
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

PluginLoading::~PluginLoading() {
  loading = outer_;
}

void PluginLoading::enter(Phase phase) {
  phase_ = phase;
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

}  // namespace trivet
