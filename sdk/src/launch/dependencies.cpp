// SPDX-License-Identifier: Apache-2.0
#include "trivet/launch/dependencies.h"

#include "trivet/config/enums.h"

namespace trivet::launch {
namespace {

Readiness ended_as(bool wanted) {
  return wanted ? Readiness::ready : Readiness::never;
}

bool has_failed(JobState state) {
  return state == JobState::failed || state == JobState::lost || state == JobState::cancelled;
}

Readiness readiness_after(AfterKind kind, const JobStatus& other) {
  if (kind == AfterKind::after) {
    if (other.attempt > 0) return Readiness::ready;
    return is_final(other.state) ? Readiness::never : Readiness::waiting;
  }
  if (!is_final(other.state)) return Readiness::waiting;
  switch (kind) {
    case AfterKind::afterok:
      return ended_as(other.state == JobState::completed);
    case AfterKind::afternotok:
      return ended_as(has_failed(other.state));
    default:
      return Readiness::ready;
  }
}

}  // namespace

DependencyAnswer readiness_of(
    const Job& job, const std::function<const JobStatus*(std::string_view job)>& status_of) {
  DependencyAnswer answer;
  for (const Dependency& dependency : job.after) {
    const JobStatus* other = status_of(dependency.job);
    const Readiness one =
        other == nullptr ? Readiness::never : readiness_after(dependency.kind, *other);
    if (one == Readiness::never) {
      const std::string state =
          other == nullptr ? "not there" : std::string(enum_name(other->state));
      return {Readiness::never, std::string(enum_name(dependency.kind)) + ":" + dependency.job +
                                    " cannot come true, it is " + state};
    }
    if (one == Readiness::waiting) answer.readiness = Readiness::waiting;
  }
  return answer;
}

}  // namespace trivet::launch
