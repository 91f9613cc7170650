// SPDX-License-Identifier: Apache-2.0
// CrashReport: reports a crash (a fault, abort, endless recursion or uncaught exception), or an
// exit outside main. The report names the plugin, its file, its current call and the requested key;
// the exit code is that of an unusable plugin. A crash without a faulty plugin is reported in one
// line and then takes its normal course.
//
// Nothing runs twice: no child process tries a plugin first, and a start costs nothing more.
#pragma once

#include <csignal>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace trivet {

class CrashReport {
 public:
  // Handles the signals of a crash from now on, in all threads; a stack overflow only in this
  // thread. Until the destructor runs the program must not end: exit() and quick_exit(), and in the
  // program itself _exit() and exec (ways_out.cpp), are reported and end with the exit code of a
  // plugin at fault. The destructor restores the old handlers. Only one object may exist.
  CrashReport();
  ~CrashReport();
  CrashReport(const CrashReport&) = delete;
  CrashReport& operator=(const CrashReport&) = delete;

 private:
  std::unique_ptr<char[]> stack_;  // for the handler: the thread's stack may be full
  stack_t previous_stack_{};
  std::terminate_handler previous_terminate_ = nullptr;
};

// Returns if this process has no CrashReport. Otherwise reports which plugin ended the program, and
// ends it with the exit code of a plugin at fault. Forked processes may end.
void refuse_to_end() noexcept;

// While this object exists, all work is done and on the disk: a crash of a plugin in a destructor
// is reported, but the program still ends with this exit code.
class WorkIsDone {
 public:
  explicit WorkIsDone(int exit_code) noexcept;
  ~WorkIsDone();
  WorkIsDone(const WorkIsDone&) = delete;
  WorkIsDone& operator=(const WorkIsDone&) = delete;
};

// Records, while it exists, that this thread loads a plugin.
class PluginLoading {
 public:
  enum class Phase { initializers, entry };

  PluginLoading(std::string_view name, const std::filesystem::path& file, std::string_view key);
  ~PluginLoading();
  PluginLoading(const PluginLoading&) = delete;
  PluginLoading& operator=(const PluginLoading&) = delete;

  void enter(Phase phase);

  // For the handler: plain memory with a fixed address.
  const char* name() const noexcept { return name_.c_str(); }
  const char* file() const noexcept { return file_.c_str(); }
  const char* key() const noexcept { return key_.c_str(); }
  Phase phase() const noexcept { return phase_; }

 private:
  const std::string name_, file_, key_;
  Phase phase_ = Phase::initializers;
  const PluginLoading* const outer_;  // loading one plugin may create objects of another
};

}  // namespace trivet
