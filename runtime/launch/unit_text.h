// SPDX-License-Identifier: Apache-2.0
// Describes a planned or completed launch as text and as JSON.
#pragma once

#include <string>
#include <string_view>

#include "launch/launcher.h"
#include "trivet/config/value.h"

namespace trivet {

// {"xid", "name", "tags", "xp_dir", "orchestrator", "files": {ORIGINAL: COPY}, "duplicates",
//  "units": [{"wid", "wu_dir", "sweep": {}, "jobs": {NAME: {"argv", "env", "cores", ...}}}]}
Value launch_value(const PlannedLaunch& launch);
std::string dry_run_text(const PlannedLaunch& launch);
std::string launched_text(const PlannedLaunch& launch);

// Quotes a word for a shell if necessary; control characters as $'\n'.
std::string shell_word(std::string_view word);
std::string command_line(const launch::Job& job);
// "2 cores, 1 GPU (cuda), memory 2147483648 bytes, after afterok:train": the resources and
// dependencies of a job, if set.
std::string needs_text(const launch::Job& job);

}  // namespace trivet
