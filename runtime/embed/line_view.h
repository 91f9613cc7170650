// SPDX-License-Identifier: Apache-2.0
// LineView: hands the lines of a run to a function, as `trivet run` prints them to a file.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "run/run_view.h"

namespace trivet {

class LineView final : public RunView {
 public:
  // `on_line` may be empty. The run ignores its exceptions.
  explicit LineView(std::function<void(std::string_view)> on_line) : on_line_(std::move(on_line)) {}

  bool is_due(std::int64_t step) override;
  void update(const RunProgress& progress) override;
  void clear() override {}
  void print(std::string_view lines) override;
  void event(std::string_view text, std::string_view name, const std::vector<Pair>& pairs) override;
  void warn(std::string_view text) override;
  int columns() const override { return 0; }
  std::string bold(std::string_view text) const override { return std::string(text); }
  std::string dim(std::string_view text) const override { return std::string(text); }

 private:
  void give(std::string_view line) const;

  std::function<void(std::string_view)> on_line_;
  double last_ = -1e9;  // when a step was given, in seconds
};

}  // namespace trivet
