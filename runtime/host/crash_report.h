// SPDX-License-Identifier: Apache-2.0
// CrashReport: last words when the code of a plugin crashes (a fault, abort, an endless recursion)
// or ends the process. They name the plugin, its file, what it was doing and the key that was asked
// for; the exit code is that of a plugin that cannot be used. A crash anywhere else goes the way it
// would have gone without.
//
// Nothing is run twice for this: no child tries a plugin beforehand, and a start costs nothing
// more.
#pragma once

#include <csignal>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace trivet {

class CrashReport {
 public:
  // Handles the signals of a crash from here on, in all threads; a stack overflow only in this one.
  // The destructor puts the old handlers back. One at a time.
  CrashReport();
  ~CrashReport();
  CrashReport(const CrashReport&) = delete;
  CrashReport& operator=(const CrashReport&) = delete;

 private:
  std::unique_ptr<char[]> stack_;  // for the handler: the thread's own may be used up
  stack_t previous_stack_{};
};

// Says, as long as it lives, that this thread loads a plugin.
class PluginLoading {
 public:
  enum class Phase { initialisers, entry };

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
  Phase phase_ = Phase::initialisers;
  const PluginLoading* const outer_;  // loading one may make objects of another
};

}  // namespace trivet
