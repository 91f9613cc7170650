// SPDX-License-Identifier: Apache-2.0
#include "base/terminal.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fmt/core.h>

#include "trivet/error.h"

namespace trivet {
namespace {

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

const char* code_of(Color color) {
  switch (color) {
    case Color::red:
      return "1;31";
    case Color::yellow:
      return "33";
    case Color::cyan:
      return "36";
    case Color::bold:
      return "1";
  }
  return "0";
}

[[noreturn]] void throw_write_error() {
  throw Error(std::string("cannot write to standard output: ") + std::strerror(errno));
}

}  // namespace

bool is_screen(std::FILE* stream) {
  const char* terminal = std::getenv("TERM");
  const bool is_dumb = terminal == nullptr || std::string_view(terminal) == "dumb";
  return !is_dumb && ::isatty(::fileno(stream)) != 0;
}

bool has_colors(std::FILE* stream) {
  return is_screen(stream) && !is_set("NO_COLOR");
}

int terminal_columns(int descriptor) {
  winsize size = {};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

std::string colored(std::string_view text, Color color, bool enabled) {
  if (!enabled) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", code_of(color), text);
}

void reserve_standard_streams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) != -1) continue;
    // open() returns the lowest free number, which is this one. Opened in the wrong direction, so
    // every use fails.
    const int flags = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    if (::open("/dev/null", flags) != fd) return;
  }
}

void print_out(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) throw_write_error();
}

void flush_out() {
  if (std::fflush(stdout) != 0) throw_write_error();
  // An earlier write of a plugin may have failed unnoticed; its errno is lost.
  if (std::ferror(stdout) != 0) throw Error("cannot write to standard output");
}

}  // namespace trivet
