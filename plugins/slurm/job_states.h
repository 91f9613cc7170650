// SPDX-License-Identifier: Apache-2.0
// Slurm job states in which Slurm's work on a job is over. Slurm has more states than any list
// (SIGNALING, STOPPED, ...), so all others count as active.
#pragma once

#include <array>
#include <string_view>

namespace trivet::slurm {

// The job stays in this state.
inline constexpr std::array<std::string_view, 11> kEndedStates = {
    "BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE",      "FAILED",       "NODE_FAIL",
    "TIMEOUT",   "PREEMPTED", "REVOKED",   "OUT_OF_MEMORY", "LAUNCH_FAILED"};

// Slurm is about to end the job, or has already requeued it.
inline constexpr std::array<std::string_view, 7> kEndingStates = {
    "COMPLETING",   "PENDING",      "REQUEUED",     "REQUEUE_FED",
    "REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD"};

}  // namespace trivet::slurm
