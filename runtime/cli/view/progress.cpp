// SPDX-License-Identifier: Apache-2.0
#include "cli/view/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include <fmt/core.h>

#include "base/process_info.h"
#include "base/terminal.h"

namespace trivet {
namespace {

constexpr double kRedrawSeconds = 0.1;
constexpr double kPlainSeconds = 10;

// 1, 2, 5, 10, 20, 50, ...
bool is_round(std::int64_t step) {
  while (step >= 10 && step % 10 == 0) step /= 10;
  return step == 1 || step == 2 || step == 5;
}

}  // namespace

bool is_plain_step(std::int64_t step, double seconds) {
  return is_round(step) || seconds >= kPlainSeconds;
}

std::string event_line(std::string_view name, const std::vector<RunView::Pair>& pairs) {
  std::string line(name);
  for (const auto& [key, value] : pairs) line += fmt::format(" {}={}", key, value);
  return line;
}

Progress::Progress(Terminal terminal, int output) : terminal_(terminal), output_(output) {}

bool Progress::is_due(std::int64_t step) {
  switch (terminal_.style) {
    case OutputStyle::quiet:
      return false;
    case OutputStyle::live:
      return steady_seconds() - last_shown_ >= kRedrawSeconds;
    case OutputStyle::plain:
      return is_plain_step(step, steady_seconds() - last_shown_);
  }
  return false;
}

void Progress::update(const RunProgress& state) {
  last_shown_ = steady_seconds();
  if (terminal_.style == OutputStyle::plain) return write(plain_line(state) + "\n");
  if (!live()) return;
  write("\r" + live_line(state, columns(), terminal_) + "\x1b[K");
  drawn_ = true;
}

// One column less than the terminal has: a full line would wrap on some terminals.
int Progress::columns() const {
  return live() ? std::max(1, terminal_columns(output_) - 1) : 0;
}

void Progress::print(std::string_view lines) {
  if (terminal_.style == OutputStyle::quiet) return;
  clear();
  write(fmt::format("{}\n", lines));
  last_shown_ = -1e9;
}

void Progress::event(std::string_view text, std::string_view name, const std::vector<Pair>& pairs) {
  if (live()) return print(text);
  const double shown = last_shown_;
  print(event_line(name, pairs));
  last_shown_ = shown;
}

void Progress::warn(std::string_view text) {
  clear();
  std::fputs(fmt::format("warning: {}\n", text).c_str(), stderr);
}

void Progress::clear() {
  if (drawn_) write("\r\x1b[K");
  drawn_ = false;
}

std::string Progress::bold(std::string_view text) const {
  return terminal_.color ? fmt::format("\x1b[1m{}\x1b[0m", text) : std::string(text);
}

std::string Progress::dim(std::string_view text) const {
  return terminal_.color ? fmt::format("\x1b[2m{}\x1b[0m", text) : std::string(text);
}

void Progress::write(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(output_, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace trivet
