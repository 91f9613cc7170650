// SPDX-License-Identifier: Apache-2.0
// StopSignals: asks a run to stop when the process gets a signal.
//
// SIGINT (Ctrl-C) stops for the user, exit code 130; SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU and SIGHUP
// are how schedulers, limits and closing terminals take the machine away, exit code 75: start me
// again. The run saves first. A second SIGINT does not wait for that, nor does a second SIGTERM
// that comes a second or more after the first: one request may reach a process by several ways.
// SIGXFSZ and SIGPIPE are ignored from then on.
#pragma once

namespace trivet {

// Seconds after the first SIGTERM in which others count as the same.
inline constexpr double kSameRequest = 1;

class StopSignals {
 public:
  // Installs the handlers; the destructor puts the old ones back. One at a time. SIGHUP is left
  // alone where it is ignored (nohup).
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
