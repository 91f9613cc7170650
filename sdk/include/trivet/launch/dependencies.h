// SPDX-License-Identifier: Apache-2.0
// Whether a job may start, as its `after` says of the other jobs of its unit.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "trivet/base/export.h"
#include "trivet/launch/job.h"
#include "trivet/launch/unit_records.h"

namespace trivet::launch {

enum class Readiness {
  ready,
  waiting,
  never,  // a job it waits for has not ended as it should
};

struct DependencyAnswer {
  Readiness readiness = Readiness::ready;
  std::string why;  // it never will be
};

// `status_of` tells the state of a job of the unit; null for one that the unit does not have.
TRIVET_API DependencyAnswer readiness_of(
    const Job& job, const std::function<const JobStatus*(std::string_view job)>& status_of);

}  // namespace trivet::launch
