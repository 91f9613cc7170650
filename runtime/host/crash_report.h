// SPDX-License-Identifier: Apache-2.0
// CrashReport: last words when a crash (a fault, abort, an endless recursion, an exception that
// nobody catches) or somebody else than main ends the program. They name the plugin, its file, what
// it was doing and the key that was asked for; the exit code is that of a plugin that cannot be
// used. A crash that no plugin is to blame for is told in a line and goes its way.
//
// Nothing is run twice for this: no child tries a plugin beforehand, and a start costs nothing
// more.
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
  // Handles the signals of a crash from here on, in all threads; a stack overflow only in this one.
  // Until the destructor the program must not end: exit() and quick_exit(), and in the program
  // itself _exit() and exec (ways_out.cpp), are told and end with the exit code of a plugin at
  // fault. The destructor puts the old handlers back. One at a time.
  CrashReport();
  ~CrashReport();
  CrashReport(const CrashReport&) = delete;
  CrashReport& operator=(const CrashReport&) = delete;

 private:
  std::unique_ptr<char[]> stack_;  // for the handler: the thread's own may be used up
  stack_t previous_stack_{};
  std::terminate_handler previous_terminate_ = nullptr;
};

// Returns unless a CrashReport lives in this process; else says who has ended the program, and ends
// it with the exit code of a plugin at fault. Processes that were forked from it may end.
void refuse_to_end() noexcept;

// As long as it lives, all that was asked for is done and on the disk: what plugins break while
// their objects go is told, and the program ends with this exit code all the same.
class WorkIsDone {
 public:
  explicit WorkIsDone(int exit_code) noexcept;
  ~WorkIsDone();
  WorkIsDone(const WorkIsDone&) = delete;
  WorkIsDone& operator=(const WorkIsDone&) = delete;
};

// Says, as long as it lives, that this thread loads a plugin.
class PluginLoading {
 public:
  enum class Phase { initializers, entry };

  PluginLoading(std::string_view name, const std::filesystem::path& file, std::string_view key);
  ~PluginLoading();
  PluginLoading(const PluginLoading&) = delete;
  PluginLoading& operator=(const PluginLoading&) = delete;

  void enter(Phase phase);

  // For the handler: plain memory that does not move.
  const char* name() const noexcept { return name_.c_str(); }
  const char* file() const noexcept { return file_.c_str(); }
  const char* key() const noexcept { return key_.c_str(); }
  Phase phase() const noexcept { return phase_; }

 private:
  const std::string name_, file_, key_;
  Phase phase_ = Phase::initializers;
  const PluginLoading* const outer_;  // loading one may make objects of another
};

}  // namespace trivet
