// SPDX-License-Identifier: Apache-2.0
// What a profile of some steps says: tables by part of the step, kernel and layer, and the timeline
// in the format of Chrome's traces, which https://ui.perfetto.dev opens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "trivet/tensor/profile.h"

namespace trivet {

// The steps of a profile, and the profile's contents.
struct ProfiledSteps {
  std::int64_t first = 0, last = 0;
  std::vector<double> ends{};  // of each step, seconds after the start of the profile
  std::vector<Profile::Kernel> kernels{};
  std::vector<Profile::Span> spans{};
  std::vector<UnitExchange> exchanges{};  // with other processes
  std::vector<std::string> scopes{};
  double peak_flops = 0;  // of the device, per second; 0: unknown

  std::int64_t steps() const { return last - first + 1; }
  double seconds() const { return ends.empty() ? 0 : ends.back(); }
};

// Figures of one row, per step.
struct ProfileRow {
  std::string name;
  double calls = 0, seconds = 0, gradient_seconds = 0, flops = 0, bytes = 0;
};
// Longest first; gradient_seconds is the part of seconds in the backward pass.
std::vector<ProfileRow> rows_by_kernel(const ProfiledSteps& steps);
std::vector<ProfileRow> rows_by_layer(const ProfiledSteps& steps);
// Spans by name, those of the first thread before those of others, whose names end in " (thread)".
std::vector<ProfileRow> rows_by_span(const ProfiledSteps& steps);

// The exchanges of units that ended in a step.
struct StepExchanges {
  std::int64_t step = 0, count = 0;
  double under_way_seconds = 0;  // at least one was, until the process had waited for it
  double waited_seconds = 0;     // of these; it computed in the others
};
std::vector<StepExchanges> exchanges_by_step(const ProfiledSteps& steps);

// The tables, with at most this many rows each. 0: all.
std::string profile_text(const ProfiledSteps& steps, std::size_t most_rows);
// {"traceEvents": [...]}: times in microseconds.
std::string chrome_trace(const ProfiledSteps& steps);

}  // namespace trivet
