// SPDX-License-Identifier: Apache-2.0
// Progress: what a person sees of a run on standard output.
//
// On a terminal one line is redrawn at most ten times a second, and what is rare (evaluations,
// checkpoints) is printed above it and stays. Elsewhere every fact is a line of key=value pairs: at
// step 1, 2, 5, 10, 20, 50, ... and every ten seconds. Never fails: a reader that went away costs
// the output, not the run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trivet {

enum class OutputStyle { live, plain, quiet };

struct Terminal {
  OutputStyle style = OutputStyle::plain;
  bool color = false;    // bold and dim
  bool unicode = false;  // a bar of block characters
};

// What standard output is: a terminal or not, NO_COLOR, TERM=dumb, the locale.
Terminal detect_terminal(bool quiet);

// The state of a run in training, for one line.
struct ProgressState {
  std::int64_t step = 0, target = 0;
  double loss = 0;
  std::string_view metric{};  // name of the newest training metric; may be empty
  double metric_value = 0;
  double examples_per_second = 0;  // 0: not known yet
  double tokens_per_second = 0;    // shown in its place on a terminal; 0: the task counts none
  double mfu = 0;                  // as a share; 0: not known
  double seconds_left = -1;        // negative: not known yet
};

// The text of the live line, at most `width` columns: what matters least is left out first.
std::string live_line(const ProgressState& state, int width, const Terminal& terminal);
std::string plain_line(const ProgressState& state);

std::string format_duration(double seconds);     // "31 s", "2 m 05 s", "3 h 07 m"
std::string format_bytes(std::uint64_t bytes);   // "4.9 MB"
std::string format_rate(double per_second);      // "950", "38.1k"
std::string format_count(std::uint64_t number);  // "407,050"
std::string format_number(double number);        // for losses and metrics

class Progress {
 public:
  // Writes to the file descriptor `output`, which it does not own.
  explicit Progress(Terminal terminal, int output = 1);

  const Terminal& terminal() const { return terminal_; }
  bool live() const { return terminal_.style == OutputStyle::live; }

  // Whether `update` for this step would show something.
  bool is_due(std::int64_t step);
  void update(const ProgressState& state);

  // Columns of a line that does not wrap; 0 when output is no terminal and lines have no end.
  int columns() const;

  // One or more whole lines that stay. Not when quiet.
  void print(std::string_view lines);
  // What stays on a terminal as `text`, elsewhere as `key=value` pairs.
  struct Pair {
    std::string key, value;
  };
  void event(std::string_view text, std::string_view name, const std::vector<Pair>& pairs);
  // Takes the live line away. The next update draws it again.
  void clear();

  std::string bold(std::string_view text) const;
  std::string dim(std::string_view text) const;

 private:
  void write(std::string_view text);

  Terminal terminal_;
  int output_;
  double last_shown_ = -1e9;
  bool drawn_ = false;
};

}  // namespace trivet
