// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace trivet {

// Holds back the signals that the script of a cluster's job passes on, until an attempt takes them.
// The first thing that `trivet job` does: before it, they would end the program.
void hold_job_signals();

}  // namespace trivet
