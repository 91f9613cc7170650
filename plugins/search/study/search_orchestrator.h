// SPDX-License-Identifier: Apache-2.0
// search/Orchestrator: runs a search for good hyper-parameters. Each work unit is a trial, chosen
// from the results of earlier trials.
//
//   [xp.orchestrator]
//   type = "search/Orchestrator"
//   orchestrator = { type = "local/Orchestrator", max_parallel = 4 }    # which runs the trials
//   objective = "accuracy"
//   goal = "max"
//   trials = 30
//   parallel = 4
//   sampler = "search/Tpe"
//   stopper = { type = "search/Asha", min_steps = 100 }
//   space."trainer.learning_rate" = { log_uniform = [1e-4, 1e-1] }
//   space."task.model.hidden_dims" = { choice = [[128], [256], [256, 128]] }
//   enqueue = [{ "trainer.learning_rate" = 0.01 }]              # tried first
//
// The objective is a number that the trial's job writes to metrics.jsonl in its directory,
// {wu_dir}, or that a separate evaluation job writes to continuous_eval/ in it. The last value is
// the trial's result, or what `value_of` says. A trial fails if one of its jobs fails, or if there
// is no value. Stopped trials are canceled units; their state contains the reason.
//
// Several objectives, each with its goal, take the place of `objective` and `goal`. Their results
// are the trials that no other one dominates (trivet/search/pareto.h):
//
//   objectives = [{ metric = "accuracy", goal = "max" }, { metric = "latency_ms", goal = "min" }]
//
// `combine` makes one value of them (combine.h), and the results are its best trial:
//
//   combine = { method = "mnas_soft", cost_objective = 20 }
//
// A search in which no trial has a value ends with an error, in supervisor.log. search.json records
// the goal, and the error if there is one: {"objective", "goal", "trials", "space", "failure"},
// with several objectives also "objectives": a list of {"objective", "goal"}; with combined ones
// "combined": the same.
//
// The experiment's directory holds the whole state of the search (study.h): killed at any moment,
// it resumes with the same trials. To add trials to an experiment that has ended, raise `trials`
// and launch into the same xid.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "search/study/combine.h"
#include "search/study/objectives.h"
#include "search/study/search_records.h"
#include "search/study/study_runner.h"
#include "trivet/launch/orchestrator.h"
#include "trivet/search/sampler.h"
#include "trivet/search/search_space.h"
#include "trivet/search/stopper.h"

namespace trivet::search {

struct SearchConfig : launch::OrchestratorConfig {
  ConfigOf<launch::Orchestrator> orchestrator = "local/Orchestrator";
  std::string objective;
  std::optional<Goal> goal;
  std::vector<ObjectiveConfig> objectives;
  std::optional<CombineConfig> combine;
  ValueOfConfig value_of;
  std::optional<double> value_for_nonfinite;
  std::int64_t trials = 1;
  std::int64_t parallel = 1;
  ConfigOf<Sampler> sampler = "search/Tpe";
  ConfigOf<Stopper> stopper;
  std::int64_t seed = 0;
  std::int64_t max_failures = 10;
  Duration refresh_interval = 5;
  Map<DimensionConfig> space;
  std::vector<Map<Value>> enqueue;

  void validate(Diagnostics& diagnostics) const;
  // `objectives`, or the only one.
  std::vector<ObjectiveConfig> all_objectives() const;
  // The same, or the combined value.
  std::vector<ObjectiveConfig> compared() const;
};
TRIVET_CONFIG(
    SearchConfig, launch::OrchestratorConfig, (orchestrator, "Where the trials run."),
    (objective,
     "A number in metrics.jsonl: \"accuracy\" or \"eval/accuracy\" of evaluations, "
     "\"train/training_loss\" of training, or one of several numbers: \"mean(eval/*/accuracy)\", "
     "with max, min or sum, too. Empty with `objectives`.",
     names_metric),
    (goal, "Whether a lower (min) or a higher (max) value of `objective` is better."),
    (objectives,
     "Several objectives at once, for a sampler that takes several. The results are the trials "
     "that "
     "no other one surpasses in all objectives. Default: `objective` alone."),
    (combine,
     "One value of all `objectives`, for any sampler and stopper. The results are its best trial. "
     "Default: none."),
    (value_of, "Selects the step, or steps, of a trial whose values count. Default: the last."),
    (value_for_nonfinite,
     "The value of a trial whose value is not finite. Default: such a trial fails. A trial whose "
     "job fails, or that never writes the objective, fails with it, too."),
    (trials, "Number of trials.", required, at_least(1)),
    (parallel, "Trials at once. A point is chosen without the results of those that run.",
     at_least(1)),
    (sampler, "Algorithm that chooses the next trial."),
    (stopper, "Rule that ends unpromising trials early. Default: no trial ends early."),
    (seed, "Seed of the sampler."),
    (max_failures, "Number of consecutive failures after which the search ends. 0: never.",
     at_least(0)),
    (refresh_interval, "Time between two queries of a cluster for the states of the trials."),
    (space, "Search space: a path in the run's config, or an argument of the jobs -> values.",
     required),
    (enqueue,
     "Points that the first trials have: tables of keys of the space and their values. The sampler "
     "chooses the keys that are left out. Points that are added later come next."))

class SearchOrchestrator final : public launch::Orchestrator {
 public:
  using Config = SearchConfig;
  SearchOrchestrator(const Config& config, launch::OrchestratorContext& context);

  void check(std::span<const launch::WorkUnit> units, Diagnostics& diagnostics) override;
  void launch(std::span<const launch::WorkUnit> units) override;
  void cancel(std::span<const std::int64_t> wids) override;
  void refresh(std::span<const std::int64_t> wids) override;
  bool makes_units() const override { return true; }
  bool takes_replicas() const override { return inner_->takes_replicas(); }
  bool gets(std::string_view job, std::string_view swept) const override {
    return inner_->gets(job, swept);
  }
  std::vector<std::string> intent() const override;
  bool has_supervisor() const override { return true; }
  void supervise(const launch::Supervision& supervision) override;

 private:
  using Clock = std::chrono::steady_clock;

  std::unique_ptr<Sampler> make_sampler() const;
  StudyPlan plan() const;
  // Returns the final error of the search; empty if there is none.
  std::string search(const launch::Supervision& supervision);
  void write_goal(const std::string& failure = {}) const;
  void launch_preempted(const std::vector<std::int64_t>& wids);
  Clock::duration refresh_interval() const;
  void sleep_until(Clock::time_point time, const launch::Supervision& supervision);
  void wait_for_units(const launch::Supervision& supervision);
  std::vector<std::int64_t> open_units();

  Config config_;
  launch::OrchestratorContext context_;
  SearchSpace space_;
  SearchRecords records_;
  launch::OrchestratorContext inner_context_;
  std::unique_ptr<launch::Orchestrator> inner_;
};

}  // namespace trivet::search
