// SPDX-License-Identifier: Apache-2.0
//
// How a job is now, where its last event may be of another time.
#pragma once

#include "launch/store/experiment_view.h"

namespace trivet {

// An event is as old as whoever could write it; the files of the attempt know better. What of them
// is damaged is told in `detail`.
launch::JobStatus status_now(const JobView& job);

// Enough of a job to find its attempts and to tell what becomes of it.
launch::Job job_of(const JobView& job);

}  // namespace trivet
