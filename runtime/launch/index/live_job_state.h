// SPDX-License-Identifier: Apache-2.0
// The current state of a job, which may be newer than its last event.
#pragma once

#include "launch/store/experiment_view.h"

namespace trivet {

// The last event may be old; the files of the attempt are newer. `detail` reports damaged files.
launch::JobStatus status_now(const JobView& job);

// The part of a job that is needed to find its attempts and its state.
launch::Job job_of(const JobView& job);

}  // namespace trivet
