// SPDX-License-Identifier: Apache-2.0
// Where the jobs of a work unit leave what they have measured.
#pragma once

#include <array>
#include <filesystem>

namespace trivet::launch {

// The metrics.jsonl of the unit's directory, and that of a job which evaluates the checkpoints of
// another one (`standalone_eval`). Either may not be there. [any-thread]
inline std::array<std::filesystem::path, 2> metrics_files(const std::filesystem::path& unit) {
  return {unit / "metrics.jsonl", unit / "continuous_eval" / "metrics.jsonl"};
}

}  // namespace trivet::launch
