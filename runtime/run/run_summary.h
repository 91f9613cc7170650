// SPDX-License-Identifier: Apache-2.0
// The final figures of a run, for summary.json and for the screen.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "run/run_stats.h"
#include "trivet/config/value.h"
#include "trivet/train/logs.h"

namespace trivet {

struct RunSummary {
  std::string state;        // as in status.json
  std::string stop_reason;  // why an action ended the training; empty if none did
  std::string source, task, model, backend, directory;
  std::string mode;
  std::int64_t seed = 0, step = 0, target = 0, parameters = 0;
  std::int64_t eval_step = -1;  // of `eval`
  int threads = 0;
  double wall_seconds = 0;                // seconds since the process started
  std::optional<std::int64_t> overlap{};  // of several processes: exchanges under way, at the end
  Logs train, eval;                       // the last of each
};

// Rates and costs are of this process, from its third step on. JSON keys: examples_per_second,
// examples_per_cpu_second, first_step_seconds, peak_rss_bytes, page_faults_per_step,
// backend_allocations_per_step.
Value summary_value(const RunSummary& summary, const RunStats& stats, const Device& device);

// Adds the results of this process, which only evaluated, to the summary of an earlier process.
// Training figures stay those of the process that trained. `before` may be any value that was read.
Value with_evaluation(Value before, const Value& now);

// Lines, without a line end after the last one. Shows only the first metrics that fit into a line
// of `width` columns; 0: all.
std::string summary_text(const RunSummary& summary, const RunStats& stats, const Device& device,
                         int width);

// "every kernel native", or "fallback: linear_fwd (938 calls), ...".
std::string kernels_text(const Device& device);

}  // namespace trivet
