// SPDX-License-Identifier: Apache-2.0
//
// LiveScreen: a terminal as a page that is drawn again and again, until q or Ctrl-C. What was there
// before comes back, also when the program is stopped (Ctrl-Z) or ended by a signal.
#pragma once

#include <signal.h>
#include <termios.h>

#include <string>

#include "trivet/os/file.h"

namespace trivet {

class LiveScreen {
 public:
  // Standard output must be a terminal. Keys are read where standard input is one, too.
  LiveScreen();
  ~LiveScreen();
  LiveScreen(const LiveScreen&) = delete;
  LiveScreen& operator=(const LiveScreen&) = delete;

  int columns() const;
  int lines() const;

  // Lines beyond those of the terminal are not shown. They hold no control characters.
  void draw(const std::string& text);

  // Waits for so long, or until the terminal has another size; false when it is to end.
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
