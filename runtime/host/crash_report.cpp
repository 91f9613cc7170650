// SPDX-License-Identifier: Apache-2.0
#include "host/crash_report.h"

#include <execinfo.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/mapped_file.h"
#include "base/process_end.h"
#include "base/signal_safe_text.h"
#include "host/loaded_plugins.h"
#include "trivet/error.h"
#include "trivet/plugin/plugin_call.h"
#include "trivet/plugin/registry.h"

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
constexpr int kMostFrames = 64;

thread_local const PluginLoading* this_load = nullptr;
std::array<struct sigaction, kCrashes.size()> previous_actions;
int exit_code = 0;
std::atomic<pid_t> guarded_process{0};  // the process that must not end now; its children may
std::atomic<int> done_code{-1};         // of WorkIsDone
std::atomic<bool> ending{false};
char uncaught[512] = "";  // the message of an uncaught exception

// Innermost first. Walks the stack, so it is used only if nothing else is known.
const PluginCode* plugin_on_stack() {
  void* frames[kMostFrames];
  const int count = ::backtrace(frames, kMostFrames);
  for (int i = 0; i < count; ++i) {
    if (const PluginCode* code = plugin_at(frames[i])) return code;
  }
  return nullptr;
}

const PluginCall* call_of_plugin() {
  const PluginCall* const call = PluginCall::current();
  const bool own = call != nullptr && call->item().plugin->name == "trivet";
  return own ? nullptr : call;
}

void tell_call(SignalSafeText& words, const PluginCall& call) {
  if (*call.method() != '\0') words << call.method() << " of ";
  words << "its " << call.item().kind.c_str();
}

void report_location(SignalSafeText& words, const PluginCall& call) {
  words << "\n       key  " << call.item().key.c_str();
  if (*call.path() != '\0') words << "\n       at   " << call.path();
}

// A plugin's library, found by an address, other than the library of the call.
void tell_code(SignalSafeText& words, const PluginCode& code, const char* did, const char* signal,
               const PluginCall* call) {
  words << "error: the plugin '" << code.name << "' " << did << signal << "\n       file "
        << code.file;
  if (call == nullptr) return;
  words << "\n       called from ";
  tell_call(words, *call);
  report_location(words, *call);
}

// Reports the plugin that this thread is in. Returns false if it is in none. `at` is the address of
// the faulting instruction, if known. Runs in a signal handler.
bool tell(SignalSafeText& words, const char* did, const char* signal, const void* at = nullptr) {
  const PluginCall* call = call_of_plugin();
  const PluginCode* code = at != nullptr ? plugin_at(at) : nullptr;
  if (this_load == nullptr && call == nullptr && code == nullptr) code = plugin_on_stack();
  if (this_load != nullptr) {
    const bool entry = this_load->phase() == PluginLoading::Phase::entry;
    words << "error: the plugin '" << this_load->name() << "' " << did << " in "
          << (entry ? "its entry" : "the static initializers of its library") << signal
          << "\n       file " << this_load->file() << "\n       key  " << this_load->key();
  } else if (code != nullptr && (call == nullptr || call->item().plugin->name != code->name)) {
    tell_code(words, *code, did, signal, call);
  } else if (call != nullptr) {
    words << "error: the plugin '" << call->item().plugin->name.c_str() << "' " << did << " in ";
    tell_call(words, *call);
    words << signal << "\n       file " << call->item().plugin->file.c_str();
    report_location(words, *call);
  } else {
    return false;
  }
  if (uncaught[0] != '\0') words << "\n       message: " << uncaught;
  words << "\n       the fault is in the plugin: use a debugger to find it, or install another "
           "version,"
           "\n       or use a config without it\n";
  return true;
}

[[noreturn]] void end_with(SignalSafeText& words, int code) {
  const int done = done_code.load();
  if (done >= 0) words << "       all work was done before that, and its files are complete\n";
  words.print();
  end_process(done >= 0 ? done : code);
}

const void* instruction_of(const void* context) {
  const auto& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return reinterpret_cast<const void*>(machine.gregs[REG_RIP]);
#else
  return reinterpret_cast<const void*>(machine.pc);
#endif
}

// The mapped file was truncated: the file is at fault, not its reader.
void tell_lost_file(const siginfo_t& info) {
  char path[1024];
  if (info.si_signo != SIGBUS || info.si_code <= 0 || !mapped_file_at(info.si_addr, path)) return;
  SignalSafeText words;
  words << "error: " << path << ": can no longer be read (SIGBUS): it was truncated or replaced "
        << "while it was in use,\n       or its disk failed; restore it and continue\n";
  end_with(words, RunError("").exit_code());
}

extern "C" void trivet_crash(int number, siginfo_t* info, void* context) {
  // Another thread is already reporting.
  while (ending.exchange(true)) ::pause();
  ::signal(SIGALRM, SIG_DFL);
  ::alarm(30);  // a broken report must not keep the process alive
  std::size_t at = 0;
  while (at + 1 < kCrashes.size() && kCrashes[at].signal != number) ++at;
  tell_lost_file(*info);
  SignalSafeText words;
  if (tell(words, "crashed", kCrashes[at].name, instruction_of(context))) {
    end_with(words, exit_code);
  }
  words << "error: trivet crashed" << kCrashes[at].name << "; no plugin was found at fault\n";
  if (uncaught[0] != '\0') words << "       message: " << uncaught << "\n";
  if (done_code.load() >= 0) end_with(words, exit_code);
  words.print();
  ::sigaction(number, &previous_actions[at], nullptr);
  ending = false;
  ::raise(number);  // arrives after this handler returns
}

// The stack is still that of the throw, so the handler of SIGABRT finds the plugin.
[[noreturn]] void on_terminate() {
  const char* what = "an exception that is not a std::exception was thrown";
  try {
    if (std::current_exception() == nullptr) std::abort();
    throw;
  } catch (const std::exception& failure) {
    what = failure.what();
    std::strncpy(uncaught, what, sizeof uncaught - 1);
  } catch (...) {
    std::strncpy(uncaught, what, sizeof uncaught - 1);
  }
  std::abort();
}

// A plugin must not end the program, least of all with exit code 0.
void at_exit() {
  refuse_to_end();
}

}  // namespace

void refuse_to_end() noexcept {
  if (guarded_process.load() != ::getpid()) return;
  SignalSafeText words;
  if (!tell(words, "ended the program", "")) {
    words << "error: the program was ended before its command was done\n";
  }
  end_with(words, exit_code);
}

CrashReport::CrashReport() : stack_(std::make_unique<char[]>(kStackSize)) {
  exit_code = PluginError("").exit_code();
  void* frame = nullptr;
  (void)::backtrace(&frame, 1);  // loads libraries now, which a handler cannot do
  static const bool registered = std::atexit(at_exit) == 0 && std::at_quick_exit(at_exit) == 0;
  (void)registered;
  guarded_process = ::getpid();
  previous_terminate_ = std::set_terminate(on_terminate);
  stack_t stack = {};
  stack.ss_sp = stack_.get();
  stack.ss_size = kStackSize;
  ::sigaltstack(&stack, &previous_stack_);
  for (std::size_t i = 0; i < kCrashes.size(); ++i) {
    struct sigaction action = {};
    action.sa_sigaction = trivet_crash;
    action.sa_flags = SA_ONSTACK | SA_SIGINFO;
    ::sigemptyset(&action.sa_mask);
    ::sigaction(kCrashes[i].signal, &action, &previous_actions[i]);
  }
}

CrashReport::~CrashReport() {
  for (std::size_t i = 0; i < kCrashes.size(); ++i) {
    ::sigaction(kCrashes[i].signal, &previous_actions[i], nullptr);
  }
  ::sigaltstack(&previous_stack_, nullptr);
  std::set_terminate(previous_terminate_);
  guarded_process = 0;
}

WorkIsDone::WorkIsDone(int code) noexcept {
  done_code = code;
}

WorkIsDone::~WorkIsDone() {
  done_code = -1;
}

PluginLoading::PluginLoading(std::string_view name, const std::filesystem::path& file,
                             std::string_view key)
    : name_(name), file_(file), key_(key), outer_(std::exchange(this_load, this)) {
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

PluginLoading::~PluginLoading() {
  this_load = outer_;
  // Handlers that came with the library would run before the one from the start of the program.
  if (guarded_process.load() != 0) (void)std::atexit(at_exit);
}

void PluginLoading::enter(Phase phase) {
  phase_ = phase;
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

}  // namespace trivet
