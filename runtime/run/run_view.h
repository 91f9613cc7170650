// SPDX-License-Identifier: Apache-2.0
// RunView: shows the progress of a run. The command provides it; the run itself prints nothing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace trivet {

// The state of a training run, for the progress line.
struct RunProgress {
  std::int64_t step = 0, target = 0;
  double loss = 0;
  std::string_view metric{};  // name of the newest training metric; may be empty
  double metric_value = 0;
  double examples_per_second = 0;  // 0: unknown
  double tokens_per_second = 0;    // 0: the task counts no tokens
  double mfu = 0;                  // as a fraction; 0: unknown
  double seconds_left = -1;        // negative: unknown
};

// Every method is called on the run thread and never throws: failed output does not end the run.
class RunView {
 public:
  virtual ~RunView() = default;
  RunView(const RunView&) = delete;
  RunView& operator=(const RunView&) = delete;

  // Whether `update` shows this step.
  virtual bool is_due(std::int64_t step) = 0;
  virtual void update(const RunProgress& progress) = 0;
  // Clears the line of `update`, until the next update.
  virtual void clear() = 0;

  // Prints one or more complete lines that stay.
  virtual void print(std::string_view lines) = 0;
  // Prints a fact that stays: `text` for users, `name` and `pairs` for programs.
  struct Pair {
    std::string key, value;
  };
  virtual void event(std::string_view text, std::string_view name,
                     const std::vector<Pair>& pairs) = 0;
  virtual void warn(std::string_view text) = 0;

  // Columns of a line that does not wrap. 0: no limit.
  virtual int columns() const = 0;
  // The text in bold or dim style, if supported.
  virtual std::string bold(std::string_view text) const = 0;
  virtual std::string dim(std::string_view text) const = 0;

 protected:
  RunView() = default;
};

}  // namespace trivet
