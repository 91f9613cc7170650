// SPDX-License-Identifier: Apache-2.0
// RunView: where a run shows what it does. A command gives it one; the run itself prints nothing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace trivet {

// The state of a run in training, for one line.
struct RunProgress {
  std::int64_t step = 0, target = 0;
  double loss = 0;
  std::string_view metric{};  // name of the newest training metric; may be empty
  double metric_value = 0;
  double examples_per_second = 0;  // 0: not known yet
  double tokens_per_second = 0;    // 0: the task counts none
  double mfu = 0;                  // as a share; 0: not known
  double seconds_left = -1;        // negative: not known yet
};

// Every method is called on the run thread and never throws: output that fails costs the output,
// not the run.
class RunView {
 public:
  virtual ~RunView() = default;
  RunView(const RunView&) = delete;
  RunView& operator=(const RunView&) = delete;

  // Whether `update` for this step would show something.
  virtual bool is_due(std::int64_t step) = 0;
  virtual void update(const RunProgress& progress) = 0;
  // Takes away what `update` showed, until the next one.
  virtual void clear() = 0;

  // One or more whole lines that stay.
  virtual void print(std::string_view lines) = 0;
  // A fact that stays: `text` for people, `name` and `pairs` where lines are read by programs.
  struct Pair {
    std::string key, value;
  };
  virtual void event(std::string_view text, std::string_view name,
                     const std::vector<Pair>& pairs) = 0;
  virtual void warn(std::string_view text) = 0;

  // Columns of a line that does not wrap; 0 where lines have no end.
  virtual int columns() const = 0;
  // The text with emphasis, or with less of it, where that can be shown.
  virtual std::string bold(std::string_view text) const = 0;
  virtual std::string dim(std::string_view text) const = 0;

 protected:
  RunView() = default;
};

}  // namespace trivet
