// SPDX-License-Identifier: Apache-2.0
#include "local_orchestrator.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "supervisor.h"
#include "trivet/error.h"
#include "trivet/launch/attempt.h"
#include "trivet/os/process.h"
#include "trivet/text/strings.h"

namespace trivet::local {
namespace {

using launch::AttemptInfo;
using launch::AttemptPhase;
using launch::Job;
using launch::JobEvent;
using launch::JobState;
using launch::JobStatus;
using launch::WorkUnit;

std::string mebibytes(std::int64_t bytes) {
  return std::to_string(bytes >> 20) + " MiB";
}

struct Lack {
  const char* field;
  std::string wanted, there;
};

std::vector<Lack> find_lacks(const Resources& want, const Resources& there) {
  std::vector<Lack> found;
  if (want.cores > there.cores) {
    found.push_back({"cores", count_of(want.cores, "core"), count_of(there.cores, "core")});
  }
  if (want.memory_bytes > there.memory_bytes) {
    found.push_back(
        {"memory", mebibytes(want.memory_bytes) + " of memory", mebibytes(there.memory_bytes)});
  }
  if (want.gpus > there.gpus) {
    found.push_back({"gpus", count_of(want.gpus, "GPU"), count_of(there.gpus, "GPU")});
  }
  return found;
}

// For the fewest processes that the job may have.
Resources least(const Job& job) {
  return resources_of(job, fewest_processes(job));
}

}  // namespace

void LocalConfig::validate(Diagnostics& diagnostics) const {
  if (grace.seconds < 0) diagnostics.add("grace", "must not be negative");
}

LocalOrchestrator::LocalOrchestrator(const Config& config, launch::OrchestratorContext& context)
    : config_(config), context_(context), machine_(this_machine()) {}

Limits LocalOrchestrator::limits() const {
  Limits limits{.resources = machine_.resources(),
                .jobs = config_.max_parallel > 0 ? config_.max_parallel
                                                 : std::numeric_limits<std::int32_t>::max()};
  if (config_.cores > 0) {
    limits.bind_cores = config_.cores <= limits.resources.cores;
    limits.resources.cores = config_.cores;
  }
  if (config_.memory.count > 0) limits.resources.memory_bytes = config_.memory.count;
  return limits;
}

// Units differ in their arguments. Their jobs mostly need the same, so each problem is reported
// once.
void LocalOrchestrator::check(std::span<const WorkUnit> units, Diagnostics& diagnostics) {
  const Limits limits = this->limits();
  std::set<std::string> said;
  const auto say = [&](const std::string& path, const std::string& what, const std::string& hint) {
    if (said.insert(path + what).second) diagnostics.add(path, what, hint);
  };
  for (const WorkUnit& unit : units) {
    Resources together;
    std::int64_t count = 0;
    bool each_fits = true;
    for (const Job& job : unit.jobs) {
      for (const Lack& lack : find_lacks(least(job), limits.resources)) {
        each_fits = false;
        say("jobs." + job.name + "." + lack.field,
            "the job needs " + lack.wanted + ", but this machine has " + lack.there + " for it",
            "reduce its needs, or use another orchestrator");
      }
      if (!job.after.empty()) continue;
      together += least(job);
      ++count;
    }
    if (!each_fits) continue;
    for (const Lack& lack : find_lacks(together, limits.resources)) {
      say("jobs",
          "the jobs of a unit start together and need " + lack.wanted + ", but this machine has " +
              lack.there + " for them",
          "reduce their needs, or start some `after` others");
    }
    if (count > limits.jobs) {
      say("orchestrator.max_parallel",
          "is " + std::to_string(limits.jobs) + ", but " + std::to_string(count) +
              " jobs of a unit start together",
          "raise it, or start some `after` others");
    }
  }
}

void LocalOrchestrator::launch(std::span<const WorkUnit>) {
  context_.start_supervisor();
}

// A running supervisor does the same. Both may do it.
void LocalOrchestrator::cancel(std::span<const std::int64_t> wids) {
  std::vector<JobEvent> events;
  launch::visit_jobs(
      context_.records, wids, [&](const WorkUnit& unit, const Job& job, JobStatus status) {
        if (launch::is_final(status.state)) return;
        const std::int64_t attempt = launch::last_attempt(job);
        if (attempt > 0 && launch::read_attempt(job, attempt).phase == AttemptPhase::running) {
          launch::end_attempt(job, attempt, launch::kReasonCancelled, config_.grace.seconds);
          return;
        }
        status.state = JobState::cancelled;
        status.time = unix_time();
        events.push_back({unit.wid, job.name, status});
      });
  if (!events.empty()) context_.records.record(events);
}

// Records job ends that a killed supervisor could not record.
void LocalOrchestrator::refresh(std::span<const std::int64_t> wids) {
  std::vector<JobEvent> events;
  launch::visit_jobs(context_.records, wids,
                     [&](const WorkUnit& unit, const Job& job, JobStatus status) {
                       if (launch::is_final(status.state)) return;
                       const std::optional<JobStatus> now = launch::unrecorded_status(job, status);
                       if (now) events.push_back({unit.wid, job.name, *now});
                     });
  if (!events.empty()) context_.records.record(events);
}

void LocalOrchestrator::supervise(const launch::Supervision& supervision) {
  Supervisor(context_.records, machine_, limits(),
             {.grace_seconds = config_.grace.seconds,
              .fail_fast = config_.fail_fast,
              .cgroups = config_.cgroups})
      .run(supervision);
}

}  // namespace trivet::local
