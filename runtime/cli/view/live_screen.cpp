// SPDX-License-Identifier: Apache-2.0
#include "cli/view/live_screen.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>

#include "base/terminal.h"
#include "trivet/error.h"

namespace trivet {
namespace {

// Switches to the alternate screen of the terminal without a cursor, and back (xterm's sequences;
// all current terminals know them).
constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l";
constexpr std::string_view kLeave = "\x1b[?25h\x1b[?1049l";
constexpr std::string_view kTop = "\x1b[H", kEndOfLine = "\x1b[K", kRest = "\x1b[J";

constexpr std::array kScreenSignals = {SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGWINCH};

}  // namespace

LiveScreen::LiveScreen() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : kScreenSignals) sigaddset(&signals, signal);
  sigprocmask(SIG_BLOCK, &signals, &before_);
  signals_ = UniqueFd(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  has_keys_ = ::isatty(0) != 0 && ::tcgetattr(0, &keys_before_) == 0;
  enter();
}

LiveScreen::~LiveScreen() {
  try {
    leave();
  } catch (const Error&) {
    // The terminal was closed.
  }
  sigprocmask(SIG_SETMASK, &before_, nullptr);
  if (end_signal_ != 0) ::raise(end_signal_);
}

void LiveScreen::enter() {
  if (has_keys_) {
    termios keys = keys_before_;
    keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    keys.c_cc[VMIN] = 0;
    keys.c_cc[VTIME] = 0;
    ::tcsetattr(0, TCSANOW, &keys);
  }
  print_out(kEnter);
  flush_out();
}

void LiveScreen::leave() {
  if (has_keys_) ::tcsetattr(0, TCSANOW, &keys_before_);
  print_out(kLeave);
  flush_out();
}

int LiveScreen::columns() const {
  return terminal_columns(1);
}

int LiveScreen::lines() const {
  winsize size = {};
  return ::ioctl(1, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row : 24;
}

void LiveScreen::draw(const std::string& text) {
  std::string page(kTop);
  std::string_view rest = text;
  const int most = lines();
  for (int line = 0; line < most && !rest.empty(); ++line) {
    const std::size_t end = rest.find('\n');
    page += line == 0 ? "" : "\r\n";
    page.append(rest.substr(0, end)).append(kEndOfLine);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  print_out(page.append(kRest));
  flush_out();
}

// Returns false if the page must end.
bool LiveScreen::take_signal() {
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof info) == sizeof info) {
    const int signal = static_cast<int>(info.ssi_signo);
    if (signal == SIGINT) return false;
    if (signal == SIGTERM || signal == SIGHUP) {
      end_signal_ = signal;
      return false;
    }
    if (signal == SIGTSTP) {
      leave();
      ::raise(SIGSTOP);
      enter();
    }
  }
  return true;
}

bool LiveScreen::wait(double seconds) {
  pollfd events[] = {{signals_.get(), POLLIN, 0}, {has_keys_ ? 0 : -1, POLLIN, 0}};
  const int count = ::poll(events, 2, static_cast<int>(seconds * 1000));
  if (count < 0) return errno == EINTR;
  if (events[0].revents != 0 && !take_signal()) return false;
  if (events[1].revents == 0) return true;
  char key = 0;
  const ssize_t got = ::read(0, &key, 1);
  return got == 1 && key != 'q' && key != 'Q';
}

}  // namespace trivet
