// SPDX-License-Identifier: Apache-2.0
#include "launch/control/unit_control.h"

#include <algorithm>
#include <set>

#include <fmt/core.h>

#include "base/process_info.h"
#include "launch/control/supervisor_process.h"
#include "launch/store/search_view.h"
#include "trivet/error.h"

namespace trivet {
namespace {

using launch::Job;
using launch::JobEvent;
using launch::JobState;
using launch::JobStatus;
using launch::WorkUnit;

template <class Function>
void for_each_job(LaunchedExperiment& experiment, const std::vector<std::int64_t>& wids,
                  const Function& function) {
  for (const std::int64_t wid : wids) {
    const WorkUnit* unit = experiment.records().find_unit(wid);
    for (const Job& job : unit->jobs) {
      function(*unit, job, experiment.records().status(wid, job.name));
    }
  }
}

std::vector<WorkUnit> units_of(LaunchedExperiment& experiment,
                               const std::vector<std::int64_t>& wids) {
  std::vector<WorkUnit> units;
  for (const std::int64_t wid : wids) units.push_back(*experiment.records().find_unit(wid));
  return units;
}

// Resets the jobs in these states to pending, with all their retries.
std::vector<std::int64_t> reset_jobs(LaunchedExperiment& experiment,
                                     const std::vector<std::int64_t>& wids,
                                     const std::vector<JobState>& states) {
  std::vector<JobEvent> events;
  std::vector<std::int64_t> touched;
  for_each_job(experiment, wids, [&](const WorkUnit& unit, const Job& job, JobStatus status) {
    if (std::find(states.begin(), states.end(), status.state) == states.end()) return;
    if (touched.empty() || touched.back() != unit.wid) touched.push_back(unit.wid);
    JobStatus fresh;
    fresh.attempt = status.attempt;
    fresh.time = unix_time();
    events.push_back({unit.wid, job.name, fresh});
  });
  if (events.empty()) return {};
  // The requests are withdrawn before the events are written: a supervisor must not cancel
  // restarted jobs.
  experiment.records().request(touched, "retry");
  experiment.records().record(events, Durability::synced);
  return touched;
}

// Updates the states of the jobs.
void refresh_states(LaunchedExperiment& experiment, const std::vector<std::int64_t>& wids) {
  if (has_supervisor_at_work(experiment.records().directory())) return;
  experiment.orchestrator().refresh(wids);
}

// An orchestrator that generates units may add more.
void launch_units(LaunchedExperiment& experiment, const std::vector<std::int64_t>& wids) {
  if (wids.empty() && !experiment.orchestrator().makes_units()) return;
  experiment.orchestrator().launch(units_of(experiment, wids));
}

std::vector<std::int64_t> chosen_units(LaunchedExperiment& experiment, const UnitChoice& chosen) {
  std::vector<std::int64_t> wids;
  if (chosen) {
    for (const std::int64_t wid : *chosen) {
      if (experiment.records().find_unit(wid) == nullptr) {
        throw UsageError(fmt::format("experiment {} has no work unit {}", experiment.xid(), wid));
      }
      wids.push_back(wid);
    }
    return wids;
  }
  for (const WorkUnit& unit : experiment.records().all_units()) wids.push_back(unit.wid);
  return wids;
}

std::set<std::int64_t> open_units(LaunchedExperiment& experiment, const UnitChoice& chosen) {
  std::set<std::int64_t> open;
  for_each_job(experiment, chosen_units(experiment, chosen),
               [&](const WorkUnit& unit, const Job&, const JobStatus& status) {
                 if (!is_final(status.state)) open.insert(unit.wid);
               });
  return open;
}

void request_for_all(LaunchedExperiment& experiment, const UnitChoice& chosen,
                     std::string_view what) {
  constexpr std::int64_t kAll[] = {launch::kWholeExperiment};
  if (!chosen && experiment.orchestrator().makes_units()) experiment.records().request(kAll, what);
}

}  // namespace

std::size_t cancel_units(LaunchedExperiment& experiment, const UnitChoice& chosen) {
  std::set<std::int64_t> cancelled = open_units(experiment, chosen);
  // First, so that the end of a unit does not trigger a new one. A supervisor that reads the
  // request may cancel units at once.
  request_for_all(experiment, chosen, "cancel");
  experiment.records().refresh();
  const std::set<std::int64_t> open = open_units(experiment, chosen);
  cancelled.insert(open.begin(), open.end());
  if (open.empty()) return cancelled.size();
  const std::vector<std::int64_t> wids(open.begin(), open.end());
  experiment.records().request(wids, "cancel");
  experiment.orchestrator().cancel(wids);
  return cancelled.size();
}

std::size_t retry_units(LaunchedExperiment& experiment, const UnitChoice& chosen) {
  request_for_all(experiment, chosen, "retry");
  std::vector<std::int64_t> wids = chosen_units(experiment, chosen);
  // A search would stop these trials again. A unit that the user names is restarted anyway.
  const std::optional<SearchView> search = read_search(experiment.records().directory());
  if (search && !chosen) {
    const std::set<std::int64_t> stopped = search->stopped_units();
    std::erase_if(wids, [&](std::int64_t one) { return stopped.contains(one); });
  }
  refresh_states(experiment, wids);
  const std::vector<std::int64_t> touched = reset_jobs(
      experiment, wids, {JobState::failed, JobState::lost, JobState::cancelled, JobState::skipped});
  launch_units(experiment, touched);
  return touched.size();
}

std::size_t resume_units(LaunchedExperiment& experiment, const UnitChoice& chosen) {
  const std::vector<std::int64_t> wids = chosen_units(experiment, chosen);
  refresh_states(experiment, wids);
  std::vector<std::int64_t> continued = reset_jobs(experiment, wids, {JobState::lost});
  // Jobs that were cancelled because they waited for one of these.
  reset_jobs(experiment, continued, {JobState::skipped});
  for_each_job(experiment, wids, [&](const WorkUnit& unit, const Job&, const JobStatus& status) {
    const bool known = std::find(continued.begin(), continued.end(), unit.wid) != continued.end();
    if (!is_final(status.state) && !known) continued.push_back(unit.wid);
  });
  std::sort(continued.begin(), continued.end());
  launch_units(experiment, continued);
  return continued.size();
}

}  // namespace trivet
