// SPDX-License-Identifier: Apache-2.0
#include "embed/line_view.h"

#include <algorithm>

#include "base/process_info.h"
#include "cli/view/progress.h"

namespace trivet {

bool LineView::is_due(std::int64_t step) {
  return on_line_ && is_plain_step(step, steady_seconds() - last_);
}

void LineView::update(const RunProgress& progress) {
  last_ = steady_seconds();
  give(plain_line(progress));
}

void LineView::print(std::string_view lines) {
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    give(lines.substr(0, end));
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
}

void LineView::event(std::string_view, std::string_view name, const std::vector<Pair>& pairs) {
  give(event_line(name, pairs));
}

void LineView::warn(std::string_view text) {
  give("warning: " + std::string(text));
}

void LineView::give(std::string_view line) const {
  if (!on_line_) return;
  try {
    on_line_(line);
  } catch (...) {
  }
}

}  // namespace trivet
