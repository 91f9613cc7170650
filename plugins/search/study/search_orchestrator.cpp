// SPDX-License-Identifier: Apache-2.0
#include "search/study/search_orchestrator.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "search/study/curve_watch.h"
#include "search/study/enqueued.h"
#include "search/study/measurements.h"
#include "search/study/study.h"
#include "trivet/config/enums.h"
#include "trivet/config/json.h"
#include "trivet/error.h"
#include "trivet/os/file.h"

namespace trivet::search {
namespace {

constexpr std::chrono::steady_clock::duration kLongestWait = std::chrono::seconds(1);

// A few points that cover every bound and every choice.
std::vector<SearchPoint> extremes(const SearchSpace& space) {
  std::int64_t count = 2;
  for (const Dimension& dimension : space.dimensions()) {
    if (dimension.is_categorical()) count = std::max(count, dimension.count());
  }
  std::vector<SearchPoint> points;
  for (std::int64_t i = 0; i < count; ++i) {
    std::vector<double> unit;
    for (const Dimension& dimension : space.dimensions()) {
      const auto values = static_cast<double>(dimension.count());
      const auto at = static_cast<double>(i);
      unit.push_back(dimension.is_categorical() ? (std::min(at, values - 1) + 0.5) / values
                                                : static_cast<double>(i % 2));
    }
    points.push_back(space.point(unit));
  }
  return points;
}

// Runs `call` after every record during its lifetime.
class Telling {
 public:
  Telling(SearchRecords& records, std::function<void()> call) : records_(records) {
    records_.on_record(std::move(call));
  }
  Telling(const Telling&) = delete;
  Telling& operator=(const Telling&) = delete;
  ~Telling() { records_.on_record({}); }

 private:
  SearchRecords& records_;
};

std::vector<Goal> goals_of(const SearchConfig& config) {
  std::vector<Goal> goals;
  for (const ObjectiveConfig& each : config.compared()) goals.push_back(each.goal);
  return goals;
}

// All that is wrong with them, at once.
void check_goals(const SearchConfig& config, Diagnostics& diagnostics) {
  if (config.objectives.empty()) {
    check_metric(config.objective, "objective", diagnostics);
    if (!config.goal) diagnostics.add("goal", "is required", "min or max");
    return;
  }
  if (!config.objective.empty() || config.goal) {
    diagnostics.add("objectives", "is set, and also objective or goal", "remove one of them");
  }
  if (config.stopper && config.objectives.size() > 1 && !config.combine) {
    diagnostics.add("stopper", "a stopper compares one objective", "set combine, or remove it");
  }
  check_objectives(config.objectives, diagnostics);
}

void check_nonfinite(const SearchConfig& config, Diagnostics& diagnostics) {
  if (!config.value_for_nonfinite) return;
  if (!std::isfinite(*config.value_for_nonfinite)) {
    diagnostics.add("value_for_nonfinite", "is not finite itself", "a value that is bad");
  }
  if (config.objectives.size() > 1 && !config.combine) {
    diagnostics.add("value_for_nonfinite", "is one value, and there are several objectives",
                    "set combine, or remove it");
  }
}

}  // namespace

std::vector<ObjectiveConfig> SearchConfig::all_objectives() const {
  if (!objectives.empty()) return objectives;
  return {{objective, goal.value_or(Goal::min)}};
}

std::vector<ObjectiveConfig> SearchConfig::compared() const {
  const std::vector<ObjectiveConfig> all = all_objectives();
  if (!combine) return all;
  return {{combined_name(*combine, all), all.front().goal}};
}

void SearchConfig::validate(Diagnostics& diagnostics) const {
  check_goals(*this, diagnostics);
  if (combine) check_combine(*combine, all_objectives(), diagnostics);
  check_value_of(value_of, all_objectives(), combine || objectives.size() <= 1, diagnostics);
  check_nonfinite(*this, diagnostics);
  if (!orchestrator) diagnostics.add("orchestrator", "a search needs one to run its trials");
  if (!sampler) diagnostics.add("sampler", "a search needs one", "search/Tpe, search/Random");
  if (!(refresh_interval.seconds > 0 && refresh_interval.seconds <= 3600)) {
    diagnostics.add("refresh_interval", "must be more than 0 and at most an hour");
  }
  if (space.empty()) {
    diagnostics.add("space", "there is nothing to search",
                    "space.\"trainer.learning_rate\" = { log_uniform = [1e-5, 1e-1] }");
  }
  check_conditions(space, "space", diagnostics);
  if (static_cast<std::int64_t>(enqueue.size()) > trials) {
    diagnostics.add("enqueue",
                    "has " + std::to_string(enqueue.size()) + " points for " +
                        std::to_string(trials) + " trials",
                    "raise trials");
  }
  try {
    const SearchSpace valid(space);
    for (std::size_t i = 0; i < enqueue.size(); ++i) {
      check_enqueued(valid, enqueue[i], joined_path("enqueue", i), diagnostics);
    }
  } catch (const ConfigError&) {
    // The space is reported above.
  }
}

SearchOrchestrator::SearchOrchestrator(const Config& config, launch::OrchestratorContext& context)
    : config_(config),
      context_(context),
      space_(config.space),
      records_(context_.records),
      // The search and the orchestrator below share one supervisor.
      inner_context_{context_.experiment_directory, records_, [] {}, context_.program},
      inner_(make(config_.orchestrator, inner_context_)) {}

// The units are not known yet; the extremes of the space are checked instead.
void SearchOrchestrator::check(std::span<const launch::WorkUnit>, Diagnostics& diagnostics) {
  const std::unique_ptr<Sampler> sampler = make_sampler();
  const std::string key(config_.sampler.key());
  const auto refuse = [&](const std::string& what, const std::string& hint) {
    throw ConfigError(Diagnostic{
        .where = {}, .path = "xp.orchestrator.sampler", .what = key + what, .hint = hint});
  };
  if (goals_of(config_).size() > 1 && !sampler->takes_several_objectives()) {
    refuse(" takes one objective", "use search/Nsga2, search/Random or search/Sobol");
  }
  if (space_.is_conditional() && !sampler->takes_conditions()) {
    refuse(" takes no space with conditions (when)", "use search/Tpe");
  }
  sampler->ask(0, {});
  StopperContext stopper{.goal = goals_of(config_).front()};
  if (config_.stopper) make(config_.stopper, stopper);
  std::vector<SearchPoint> points = extremes(space_);
  for (const Value& given : plan().enqueued) {
    points.push_back(with_given(space_, points.front(), given));
  }
  std::vector<launch::WorkUnit> units;
  for (const SearchPoint& point : points) {
    units.push_back(records_.add({.args = point, .shown = {}}));
  }
  inner_->check(units, diagnostics);
}

std::unique_ptr<Sampler> SearchOrchestrator::make_sampler() const {
  const std::vector<Goal> goals = goals_of(config_);
  SamplerContext context{
      .space = space_, .goal = goals.front(), .seed = config_.seed, .goals = goals};
  return make(config_.sampler, context);
}

StudyPlan SearchOrchestrator::plan() const {
  StudyPlan plan{.objectives = {},
                 .trials = config_.trials,
                 .parallel = config_.parallel,
                 .max_failures = config_.max_failures,
                 .rule = {.goals = {},
                          .value_of = config_.value_of,
                          .combine = config_.combine,
                          .for_nonfinite = config_.value_for_nonfinite}};
  for (const ObjectiveConfig& each : config_.all_objectives()) {
    plan.objectives.push_back(each.metric);
    plan.rule.goals.push_back(each.goal);
  }
  for (const Map<Value>& given : config_.enqueue) {
    plan.enqueued.push_back(in_order_of(space_, given));
  }
  return plan;
}

std::vector<std::string> SearchOrchestrator::intent() const {
  std::string goals;
  for (const ObjectiveConfig& each : config_.compared()) {
    goals += (goals.empty() ? "the " : " and the ") + std::string(enum_name(each.goal)) + " of " +
             each.metric;
  }
  std::string head = "search for " + goals + ": " + std::to_string(config_.trials) + " trials, " +
                     std::to_string(config_.parallel) + " at once, by " +
                     std::string(config_.sampler.key()) + " on " +
                     std::string(config_.orchestrator.key());
  if (config_.stopper) head += ", stopped early by " + std::string(config_.stopper.key());
  std::vector<std::string> lines = {head};
  if (config_.value_of.at != ValueAt::last) {
    lines.push_back("  value of a trial: " + text_of(config_.value_of));
  }
  for (const Dimension* key : space_.keys()) {
    lines.push_back("  " + key->path() + ": " + key->text());
  }
  lines.emplace_back("  first trial:");
  SearchPoint first = make_sampler()->ask(0, {});
  const StudyPlan plan = this->plan();
  if (!plan.enqueued.empty()) first = with_given(space_, first, plan.enqueued.front());
  for (const auto& [name, value] : first) {
    lines.back() += " " + name + "=" + to_toml(value);
  }
  return lines;
}

void SearchOrchestrator::launch(std::span<const launch::WorkUnit>) {
  context_.start_supervisor();
}

void SearchOrchestrator::cancel(std::span<const std::int64_t> wids) {
  inner_->cancel(wids);
}

void SearchOrchestrator::refresh(std::span<const std::int64_t> wids) {
  inner_->refresh(wids);
}

// A cluster may be unreachable for a while. The search records its whole state, so it resumes where
// it was.
void SearchOrchestrator::supervise(const launch::Supervision& supervision) {
  std::string failed;
  while (true) {
    try {
      failed = search(supervision);
      break;
    } catch (const RunError& failure) {
      if (inner_->has_supervisor()) throw;
      std::fprintf(stderr, "the search continues when this error is resolved: %s\n",
                   failure.message().c_str());
    }
    const Clock::time_point next = Clock::now() + refresh_interval();
    while (Clock::now() < next) {
      if (supervision.should_stop()) return;
      sleep_until(next, supervision);
    }
  }
  if (failed.empty()) return;
  write_goal(failed);
  throw RunError(failed, {.hint = "objective names the number to optimize"});
}

std::string SearchOrchestrator::search(const launch::Supervision& supervision) {
  write_goal();
  const std::unique_ptr<Sampler> sampler = make_sampler();
  StopperContext stopper_context{.goal = goals_of(config_).front()};
  std::unique_ptr<Stopper> stopper;
  if (config_.stopper) stopper = make(config_.stopper, stopper_context);
  Study study(context_.experiment_directory / "search.jsonl", space_);
  const CurveWatch watch(supervision.wake_fd);
  const UnitCalls calls{.launch =
                            [&](const launch::WorkUnit& unit) {
                              inner_->launch({&unit, 1});
                            },
                        .cancel =
                            [&](std::int64_t wid) {
                              inner_->cancel({&wid, 1});
                            },
                        .follow = [&](const std::filesystem::path& curve) { watch.follow(curve); }};
  StudyRunner runner(plan(), study, space_, *sampler, stopper.get(), records_, calls);
  bool stopped = false;
  const launch::Supervision below{.should_stop =
                                      [&] {
                                        stopped = supervision.should_stop();
                                        watch.quiet();
                                        if (!stopped) runner.step();
                                        return stopped;
                                      },
                                  .wake_fd = watch.fd()};
  const Telling telling(records_, [&] {
    if (!stopped) runner.step();
  });
  runner.step();
  while (!stopped) {
    if (inner_->has_supervisor()) {
      inner_->supervise(below);
    } else {
      wait_for_units(below);
    }
    if (!stopped) runner.step();
    if (runner.is_done()) break;
  }
  const bool is_cancelled = records_.is_cancelled(launch::kWholeExperiment);
  return stopped || is_cancelled ? std::string() : runner.failure();
}

// For programs that watch the search.
void SearchOrchestrator::write_goal(const std::string& failure) const {
  Value objectives = Value::array(), space = Value::table();
  for (const ObjectiveConfig& each : config_.all_objectives()) {
    objectives.push_back(
        Value::table({{"objective", full_name(each.metric)}, {"goal", enum_name(each.goal)}}));
  }
  for (const auto& [path, dimension] : config_.space) space.set(path, encode(dimension));
  Value goal = objectives.items().front();
  if (config_.combine) goal.set("objective", config_.compared().front().metric);
  goal.set("trials", config_.trials);
  goal.set("space", std::move(space));
  if (objectives.items().size() > 1) {
    goal.set(config_.combine ? "combined" : "objectives", std::move(objectives));
  }
  if (!failure.empty()) goal.set("failure", failure);
  replace_file(context_.experiment_directory / "search.json", to_json(goal) + "\n");
}

// Resumes units that were preempted and that the cluster has not restarted itself.
void SearchOrchestrator::launch_preempted(const std::vector<std::int64_t>& wids) {
  records_.refresh();
  std::set<std::int64_t> waiting;
  visit_jobs(
      records_, wids,
      [&](const launch::WorkUnit& unit, const launch::Job&, const launch::JobStatus& status) {
        if (status.state == launch::JobState::preempted) waiting.insert(unit.wid);
      });
  std::vector<launch::WorkUnit> units;
  for (const launch::WorkUnit& unit : records_.units()) {
    if (waiting.contains(unit.wid)) units.push_back(unit);
  }
  if (!units.empty()) inner_->launch(units);
}

// For an orchestrator without a supervisor: a cluster runs the units, and their states are polled.
void SearchOrchestrator::wait_for_units(const launch::Supervision& supervision) {
  Clock::time_point next = Clock::now();
  while (!supervision.should_stop()) {
    const std::vector<std::int64_t> open = open_units();
    if (open.empty()) return;
    const Clock::time_point now = Clock::now();
    if (now >= next) {
      next = now + refresh_interval();
      inner_->refresh(open);
      launch_preempted(open);
      continue;
    }
    sleep_until(next, supervision);
  }
}

SearchOrchestrator::Clock::duration SearchOrchestrator::refresh_interval() const {
  return std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(config_.refresh_interval.seconds));
}

// Limits the sleep, since records may change without a notification.
void SearchOrchestrator::sleep_until(Clock::time_point time,
                                     const launch::Supervision& supervision) {
  const Clock::duration left = std::min<Clock::duration>(kLongestWait, time - Clock::now());
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(left);
  pollfd wake{supervision.wake_fd, POLLIN, 0};
  ::poll(&wake, 1, static_cast<int>(std::max<std::int64_t>(wait.count(), 0)));
}

std::vector<std::int64_t> SearchOrchestrator::open_units() {
  std::vector<std::int64_t> open;
  for (const launch::WorkUnit& unit : records_.units()) {
    const bool ended = std::all_of(unit.jobs.begin(), unit.jobs.end(), [&](const launch::Job& job) {
      return launch::is_final(records_.status(unit.wid, job.name).state);
    });
    if (!ended) open.push_back(unit.wid);
  }
  return open;
}

}  // namespace trivet::search
