// SPDX-License-Identifier: Apache-2.0
#include "launch/index/live_job_state.h"

#include "base/file_stamp.h"
#include "trivet/config/json.h"
#include "trivet/error.h"
#include "trivet/launch/attempt.h"

namespace trivet {
namespace {

namespace fs = std::filesystem;
using launch::AttemptPhase;
using launch::JobStatus;

bool is_damaged(const fs::path& file) {
  if (!stamp_of(file).is_there()) return false;
  try {
    return !value_from_json(read_file_at_most(file, 1 << 20), file.string()).is_table();
  } catch (const RunError&) {
    return true;
  }
}

std::string damage_of(const fs::path& attempt) {
  for (const char* name : {"started.json", "exit.json"}) {
    if (is_damaged(attempt / name)) return (attempt / name).string() + " is damaged";
  }
  return {};
}

}  // namespace

launch::Job job_of(const JobView& view) {
  launch::Job job;
  job.name = view.name;
  job.directory = view.directory;
  job.retries = view.retries;
  return job;
}

JobStatus status_now(const JobView& view) {
  JobStatus recorded = view.status;
  if (recorded.state != launch::JobState::running || recorded.attempt < 1) return recorded;
  const launch::Job job = job_of(view);
  launch::AttemptInfo seen;
  try {
    seen = launch::read_attempt(job, recorded.attempt);
  } catch (const RunError& unreadable) {
    recorded.detail = unreadable.message();
    return recorded;
  }
  if (seen.phase == AttemptPhase::running) return recorded;
  const std::string damage = seen.phase == AttemptPhase::ended
                                 ? std::string()
                                 : damage_of(job.directory / std::to_string(recorded.attempt));
  if (seen.phase != AttemptPhase::fresh) {
    recorded = launch::after_attempt(job, recorded, seen.status);
  }
  if (!damage.empty()) recorded.detail = damage;
  return recorded;
}

}  // namespace trivet
