// SPDX-License-Identifier: Apache-2.0
#include "search/study/study_runner.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <utility>

#include "search/study/enqueued.h"
#include "trivet/config/enums.h"
#include "trivet/error.h"
#include "trivet/launch/unit_files.h"

namespace trivet::search {
namespace {

using launch::JobState;
using launch::WorkUnit;

launch::SweepItem item_of(const SearchPoint& point) {
  return {.args = point};
}

// Enough to find the intended name.
std::string seen_text(const WorkUnit& unit, const std::vector<Objective>& followed) {
  constexpr std::size_t kMost = 20;
  std::vector<std::string> names = numbers_seen(unit.directory);
  std::set<std::string> runs;
  for (const Objective& each : followed) {
    if (each.run.empty() || !runs.insert(each.run).second) continue;
    for (const std::string& name : numbers_seen(std::filesystem::path(unit.directory) / each.run)) {
      names.push_back(each.run + ":" + name);
    }
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(kMost, names.size()); ++i) {
    text += (text.empty() ? " (seen: " : ", ") + names[i];
  }
  if (names.size() > kMost) text += ", ...";
  return text.empty() ? text : text + ")";
}

}  // namespace

StudyRunner::StudyRunner(const StudyPlan& plan, Study& study, const SearchSpace& space,
                         const Sampler& sampler, const Stopper* stopper, SearchRecords& records,
                         UnitCalls calls)
    : plan_(plan),
      study_(study),
      space_(space),
      sampler_(sampler),
      stopper_(stopper),
      records_(records),
      calls_(std::move(calls)),
      value_(plan.objectives, plan.rule) {}

void StudyRunner::step() {
  if (busy_) return;
  busy_ = true;
  try {
    records_.refresh();
    if (!taken_up_) take_up();
    for (std::int64_t number = 0; number < std::ssize(study_.trials()); ++number) look_at(number);
    ask();
  } catch (...) {
    busy_ = false;
    throw;
  }
  busy_ = false;
}

bool StudyRunner::is_done() const {
  const auto runs = [](const Trial& trial) { return trial.state == TrialState::running; };
  return taken_up_ && !wants_more() &&
         std::none_of(study_.trials().begin(), study_.trials().end(), runs);
}

std::string StudyRunner::failure() const {
  const std::span<const Trial> trials = study_.trials();
  const auto has_value = [](const Trial& trial) { return trial.value.has_value(); };
  if (trials.empty() || std::any_of(trials.begin(), trials.end(), has_value)) return {};
  const std::string count = std::to_string(trials.size());
  const std::int64_t last = trials.back().number;
  return count + " of " + count + " trials have no value; trial " + std::to_string(last) + ": " +
         study_.ending(last).detail;
}

bool StudyRunner::wants_more() const {
  if (std::ssize(study_.trials()) >= plan_.trials) return false;
  if (records_.is_cancelled(launch::kWholeExperiment)) return false;
  return plan_.max_failures == 0 || study_.failures_in_a_row() < plan_.max_failures;
}

// Adopts the trials of an earlier process: units that it could not make, curves to compare with,
// and units that it could not cancel.
void StudyRunner::take_up() {
  taken_up_ = true;
  const std::vector<WorkUnit> there = records_.units();
  for (std::int64_t number = 0; number < std::ssize(study_.trials()); ++number) {
    const Trial& trial = study_.trials()[static_cast<std::size_t>(number)];
    if (trial.state == TrialState::running) {
      add_unit(number);
      continue;
    }
    const Study::Ending& ending = study_.ending(number);
    const auto found = std::find_if(there.begin(), there.end(),
                                    [&](const WorkUnit& unit) { return unit.wid == ending.wid; });
    if (found == there.end()) continue;
    keep(number, *found);
    if (stopper_ != nullptr) read_curve(number);
    if (trial.state == TrialState::stopped && !final_state(*found)) {
      cancel(*found, ending.detail);
    }
  }
}

// Valid values may not fit together, such as 32 examples in 5 parts: the trial fails.
void StudyRunner::add_unit(std::int64_t number) {
  const Trial& trial = study_.trials()[static_cast<std::size_t>(number)];
  try {
    const WorkUnit unit = records_.add(item_of(trial.point));
    keep(number, unit);
    if (!final_state(unit)) calls_.launch(unit);
  } catch (const ConfigError& error) {
    study_.end(number, TrialState::failed, {}, {.wid = 0, .detail = error.what()});
  }
}

void StudyRunner::keep(std::int64_t number, const WorkUnit& unit) {
  Unit kept{unit, {}};
  for (const Objective& each : value_.followed()) kept.curves.emplace_back(unit.directory, each);
  units_.insert_or_assign(number, std::move(kept));
}

void StudyRunner::look_at(std::int64_t number) {
  const auto is_running = [&] {
    return study_.trials()[static_cast<std::size_t>(number)].state == TrialState::running;
  };
  if (!is_running()) return;
  const WorkUnit& unit = units_.at(number).unit;
  // Reads the state first, so that everything a job wrote before its end is seen.
  const std::optional<JobState> state = final_state(unit);
  if (!state && stopper_ != nullptr && calls_.follow) {
    for (const Objective& each : value_.followed()) {
      for (const auto& file : files_of(unit.directory, each)) calls_.follow(file);
    }
  }
  read_curve(number);
  if (state) {
    note_end(number, *state);
  } else if (records_.is_cancelled(launch::kWholeExperiment)) {
    // The command that canceled the search may not have known of this unit.
    if (!records_.is_cancelled(unit.wid)) cancel(unit, "the search was cancelled");
  } else if (stopper_ != nullptr) {
    stop_if_hopeless(number);
  }
}

// The state of all jobs together: completed if each is.
std::optional<JobState> StudyRunner::final_state(const WorkUnit& unit) const {
  JobState state = JobState::completed;
  for (const launch::Job& job : unit.jobs) {
    const JobState own = records_.status(unit.wid, job.name).state;
    if (!launch::is_final(own)) return std::nullopt;
    if (state == JobState::completed) state = own;
  }
  return state;
}

void StudyRunner::read_curve(std::int64_t number) {
  Unit& unit = units_.at(number);
  bool changed = false;
  for (UnitCurve& curve : unit.curves) changed |= curve.update();
  if (changed) study_.set_measurements(number, value_.watched(curves_of(unit)));
}

TrialValue::Curves StudyRunner::curves_of(const Unit& unit) {
  TrialValue::Curves curves;
  for (const UnitCurve& curve : unit.curves) curves.emplace_back(curve.measurements());
  return curves;
}

TrialValue::Outcome StudyRunner::outcome(const Unit& unit) const {
  return value_.of(curves_of(unit));
}

void StudyRunner::note_end(std::int64_t number, JobState state) {
  const Unit& unit = units_.at(number);
  TrialValue::Outcome end;
  if (state == JobState::completed) {
    end = outcome(unit);
    if (end.is_unseen) end.missing += seen_text(unit.unit, value_.followed());
  } else {
    end.missing = enum_name(state);
  }
  study_.end(number, end.values.empty() ? TrialState::failed : TrialState::complete, end.values,
             {.wid = unit.unit.wid, .detail = end.missing});
}

void StudyRunner::stop_if_hopeless(std::int64_t number) {
  const Trial& trial = study_.trials()[static_cast<std::size_t>(number)];
  if (trial.measurements.empty()) return;
  const std::optional<std::string> why = stopper_->should_stop(trial, study_.trials());
  if (!why) return;
  const Unit& unit = units_.at(number);
  study_.end(number, TrialState::stopped, outcome(unit).values,
             {.wid = unit.unit.wid, .detail = *why});
  cancel(unit.unit, *why);
}

void StudyRunner::cancel(const WorkUnit& unit, const std::string& why) {
  records_.stop(unit.wid, why);
  calls_.cancel(unit.wid);
}

void StudyRunner::ask() {
  while (wants_more() && open_units() < plan_.parallel) {
    const std::int64_t number = std::ssize(study_.trials());
    SearchPoint point = sampler_.ask(number, study_.history());
    const Value* given = next_enqueued();
    if (given != nullptr) point = with_given(space_, point, *given);
    study_.begin(std::move(point), given != nullptr ? *given : Value());
    add_unit(number);
    // A point that was tried before already has its result.
    look_at(number);
  }
}

// The first of the points to try that was not tried as often as it is listed so far. Their list may
// have grown since the search began.
const Value* StudyRunner::next_enqueued() const {
  const std::vector<Value>& list = plan_.enqueued;
  const std::span<const Value> tried = study_.enqueued();
  for (auto entry = list.begin(); entry != list.end(); ++entry) {
    const auto wanted = std::count(list.begin(), entry + 1, *entry);
    if (wanted > std::count(tried.begin(), tried.end(), *entry)) return &*entry;
  }
  return nullptr;
}

std::int64_t StudyRunner::open_units() const {
  std::set<std::int64_t> open;
  for (const auto& [number, unit] : units_) {
    if (!final_state(unit.unit)) open.insert(unit.unit.wid);
  }
  return std::ssize(open);
}

}  // namespace trivet::search
