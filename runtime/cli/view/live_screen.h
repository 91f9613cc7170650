// SPDX-License-Identifier: Apache-2.0
// LiveScreen: redraws a page on the terminal until q or Ctrl-C. Restores the previous content, also
// if the program is stopped (Ctrl-Z) or ended by a signal.
#pragma once

#include <signal.h>
#include <termios.h>

#include <string>

#include "trivet/os/file.h"

namespace trivet {

class LiveScreen {
 public:
  // Standard output must be a terminal. Keys are read if standard input is also a terminal.
  LiveScreen();
  ~LiveScreen();
  LiveScreen(const LiveScreen&) = delete;
  LiveScreen& operator=(const LiveScreen&) = delete;

  int columns() const;
  int lines() const;

  // Lines that do not fit on the terminal are not shown. `lines` contains no control characters.
  void draw(const std::string& text);

  // Waits for this time or until the terminal is resized. Returns false if the page must end.
  bool wait(double seconds);

 private:
  void enter();
  void leave();
  bool take_signal();

  UniqueFd signals_;
  sigset_t before_{};
  termios keys_before_{};
  bool has_keys_ = false;
  int end_signal_ = 0;
};

}  // namespace trivet
