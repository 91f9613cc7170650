// SPDX-License-Identifier: Apache-2.0
#include "search/study/search_orchestrator.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "search/study/curve_watch.h"
#include "search/study/measurements.h"
#include "search/study/study.h"
#include "search/study/study_runner.h"
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

StudyPlan plan_of(const SearchConfig& config) {
  return {.objective = config.objective,
          .goal = config.goal,
          .trials = config.trials,
          .parallel = config.parallel,
          .max_failures = config.max_failures};
}

}  // namespace

void SearchConfig::validate(Diagnostics& diagnostics) const {
  const auto is_plain = [](char c) { return c != '"' && c != '\\' && c != '\n'; };
  if (objective.empty()) diagnostics.add("objective", "names no metric", "\"eval/accuracy\"");
  if (!std::all_of(objective.begin(), objective.end(), is_plain)) {
    diagnostics.add("objective", "a metric's name has no quotes, backslashes or line ends");
  }
  if (!orchestrator) diagnostics.add("orchestrator", "a search needs one to run its trials");
  if (!sampler) diagnostics.add("sampler", "a search needs one", "search/Tpe, search/Random");
  if (!(refresh_interval.seconds > 0 && refresh_interval.seconds <= 3600)) {
    diagnostics.add("refresh_interval", "must be more than 0 and at most an hour");
  }
  if (space.empty()) {
    diagnostics.add("space", "there is nothing to search",
                    "space.\"trainer.learning_rate\" = { log_uniform = [1e-5, 1e-1] }");
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
  SamplerContext sampler{.space = space_, .goal = config_.goal, .seed = config_.seed};
  make(config_.sampler, sampler)->ask(0, {});
  StopperContext stopper{.goal = config_.goal};
  if (config_.stopper) make(config_.stopper, stopper);
  std::vector<launch::WorkUnit> units;
  for (const SearchPoint& point : extremes(space_)) {
    units.push_back(records_.add({.args = point, .shown = {}}));
  }
  inner_->check(units, diagnostics);
}

std::vector<std::string> SearchOrchestrator::intent() const {
  std::string head = "search for the " + std::string(enum_name(config_.goal)) + " of " +
                     config_.objective + ": " + std::to_string(config_.trials) + " trials, " +
                     std::to_string(config_.parallel) + " at once, by " +
                     std::string(config_.sampler.key()) + " on " +
                     std::string(config_.orchestrator.key());
  if (config_.stopper) head += ", stopped early by " + std::string(config_.stopper.key());
  std::vector<std::string> lines = {head};
  for (const Dimension& dimension : space_.dimensions()) {
    lines.push_back("  " + dimension.path() + ": " + dimension.text());
  }
  SamplerContext sampler{.space = space_, .goal = config_.goal, .seed = config_.seed};
  lines.emplace_back("  first trial:");
  for (const auto& [name, value] : make(config_.sampler, sampler)->ask(0, {})) {
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
  SamplerContext sampler_context{.space = space_, .goal = config_.goal, .seed = config_.seed};
  const auto sampler = make(config_.sampler, sampler_context);
  StopperContext stopper_context{.goal = config_.goal};
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
  StudyRunner runner(plan_of(config_), study, *sampler, stopper.get(), records_, calls);
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
  const Objective objective = parse_objective(config_.objective);
  Value goal = Value::table({{"objective", objective.kind + "/" + objective.name},
                             {"goal", enum_name(config_.goal)},
                             {"trials", config_.trials}});
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
