// SPDX-License-Identifier: Apache-2.0
// StopSignals: requests a stop of the run when the process gets a signal.
//
// SIGINT (Ctrl-C) is a stop by the user, exit code 130. SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU and
// SIGHUP come from schedulers, limits and closing terminals: exit code 75 asks for a restart. The
// run saves first. A second SIGINT stops at once. So does a second SIGTERM, if it comes a second or
// more after the first, because one request may reach a process twice. SIGXFSZ and SIGPIPE are
// ignored.
#pragma once

namespace trivet {

// Further SIGTERMs within these seconds count as the same request.
inline constexpr double kSameRequest = 1;

class StopSignals {
 public:
  // Installs the handlers; the destructor restores the old ones. Only one object may exist. An
  // ignored SIGHUP (nohup) stays ignored.
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // [any-thread]
  bool requested() const noexcept;
  int signal() const noexcept;     // the first one; 0 for none
  int exit_code() const noexcept;  // 130 or 75; 0 for none
  const char* name() const noexcept;
};

}  // namespace trivet
