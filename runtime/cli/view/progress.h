// SPDX-License-Identifier: Apache-2.0
// Progress: shows a run to the user on standard output.
//
// On a terminal, one line is redrawn at most ten times a second. Rare events (evaluations,
// checkpoints) are printed above it and stay. Elsewhere each report is a line of key=value pairs,
// at step 1, 2, 5, 10, 20, 50, ... and every ten seconds. Never fails: a closed output does not end
// the run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "run/run_view.h"

namespace trivet {

enum class OutputStyle { live, plain, quiet };

struct Terminal {
  OutputStyle style = OutputStyle::plain;
  bool color = false;    // bold and dim
  bool unicode = false;  // a bar of block characters
};

// The kind of standard output: a terminal or not, NO_COLOR, TERM=dumb, the locale.
Terminal detect_terminal();

// The text of the live line, at most `width` columns. Omits the least important parts first.
std::string live_line(const RunProgress& state, int width, const Terminal& terminal);
std::string plain_line(const RunProgress& state);
// Whether a plain line is due, so many seconds after the last one.
bool is_plain_step(std::int64_t step, double seconds);
std::string event_line(std::string_view name, const std::vector<RunView::Pair>& pairs);

class Progress final : public RunView {
 public:
  // Writes to the file descriptor `output`, which it does not own. Warnings go to standard error.
  explicit Progress(Terminal terminal, int output = 1);

  bool is_due(std::int64_t step) override;
  void update(const RunProgress& progress) override;
  void clear() override;
  void print(std::string_view lines) override;
  void event(std::string_view text, std::string_view name, const std::vector<Pair>& pairs) override;
  void warn(std::string_view text) override;
  int columns() const override;
  std::string bold(std::string_view text) const override;
  std::string dim(std::string_view text) const override;

 private:
  bool live() const { return terminal_.style == OutputStyle::live; }
  void write(std::string_view text);

  Terminal terminal_;
  int output_;
  double last_shown_ = -1e9;
  bool drawn_ = false;
};

}  // namespace trivet
