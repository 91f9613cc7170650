// SPDX-License-Identifier: Apache-2.0
// States of jobs at Slurm that mean that its work on a job is over. There are more states than
// anybody lists (SIGNALING, STOPPED, ...), so what is not listed here goes on.
#pragma once

#include <array>
#include <string_view>

namespace trivet::slurm {

// Nothing more happens to the job by itself.
inline constexpr std::array<std::string_view, 11> kEndedStates = {
    "BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE",      "FAILED",       "NODE_FAIL",
    "TIMEOUT",   "PREEMPTED", "REVOKED",   "OUT_OF_MEMORY", "LAUNCH_FAILED"};

// Slurm is about to end the job, or has queued it again already.
inline constexpr std::array<std::string_view, 7> kEndingStates = {
    "COMPLETING",   "PENDING",      "REQUEUED",     "REQUEUE_FED",
    "REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD"};

}  // namespace trivet::slurm
