// SPDX-License-Identifier: Apache-2.0
// The course of a search: when trials start, and how they end.
#include "search/study/study_runner.h"

#include <cmath>
#include <optional>
#include <set>

#include <catch2/catch.hpp>

#include "plugins/search/study.h"
#include "plugins/search/units.h"
#include "search/samplers/random.h"
#include "search/samplers/tpe.h"
#include "search/stoppers/asha.h"

using namespace trivet;
using namespace trivet::test;
using Catch::Matchers::Contains;
using launch::JobState;
using search::StudyPlan;

namespace {

using Wids = std::vector<std::int64_t>;

// A search in one process; a second one on the same units is the process after a kill.
class Search {
 public:
  explicit Search(PlayedUnits& units, const StudyPlan& plan,
                  search::SearchSpace space = branin_space(),
                  const search::Stopper* stopper = nullptr)
      : study(units.experiment() / "search.jsonl", space),
        space_(space),
        sampler_(make_sampler<search::Tpe>({}, space, 3)),
        records_(units),
        runner_(
            plan, study, space_, *sampler_, stopper, records_,
            {.launch = [this](const launch::WorkUnit& unit) { launched.push_back(unit.wid); },
             .cancel =
                 [this](std::int64_t wid) {
                   CHECK(records_.is_cancelled(wid));
                   cancelled.push_back(wid);
                 },
             .follow = [this](const std::filesystem::path& curve) { followed.insert(curve); }}) {}

  void step() { runner_.step(); }
  bool is_done() const { return runner_.is_done(); }
  const search::Trial& trial(std::size_t number) const { return study.trials()[number]; }
  std::string detail(std::int64_t number) const { return study.ending(number).detail; }

  search::Study study;
  Wids launched, cancelled;
  std::set<std::filesystem::path> followed;

 private:
  search::SearchSpace space_;
  std::unique_ptr<search::Sampler> sampler_;
  search::SearchRecords records_;
  search::StudyRunner runner_;
};

// Completes every running unit.
void finish_units(PlayedUnits& units) {
  for (const launch::WorkUnit& unit : units.units()) {
    if (launch::is_final(units.status(unit.wid, "main").state)) continue;
    units.measure(unit.wid, 1, branin(unit.sweep.args));
    units.end(unit.wid);
  }
}

std::vector<search::SearchPoint> points_of(const Search& search) {
  std::vector<search::SearchPoint> points;
  for (const search::Trial& trial : search.study.trials()) points.push_back(trial.point);
  return points;
}

search::SearchSpace two_values() {
  Map<search::DimensionConfig> config;
  config["n"].int_ = {1, 2};
  return search::SearchSpace(config);
}

}  // namespace

TEST_CASE("at most `parallel` trials run, and the next starts when one has ended") {
  PlayedUnits units;
  Search search(units, {.objectives = {"loss"}, .trials = 5, .parallel = 2});
  search.step();
  CHECK(search.launched == Wids{1, 2});
  search.step();
  CHECK(search.launched == Wids{1, 2});
  units.measure(2, 10, 0.5);
  units.end(2);
  search.step();
  CHECK(search.launched == Wids{1, 2, 3});
  CHECK(search.trial(1).state == search::TrialState::complete);
  CHECK(search.trial(1).value == 0.5);
  CHECK(search.trial(0).state == search::TrialState::running);
  while (!search.is_done()) {
    finish_units(units);
    search.step();
  }
  CHECK(search.launched == Wids{1, 2, 3, 4, 5});
  for (const search::Trial& trial : search.study.trials()) {
    CHECK(trial.state == search::TrialState::complete);
  }
}

TEST_CASE("a trial's value is its last measurement") {
  PlayedUnits units;
  Search search(units, {.objectives = {"loss"}, .trials = 1});
  search.step();
  CHECK(search.followed.empty());  // there is no stopper
  units.measure(1, 10, 0.25);
  units.measure(1, 20, 0.75);
  units.end(1);
  search.step();
  CHECK(search.trial(0).value == 0.75);
  CHECK(search.is_done());
}

TEST_CASE("a trial without a number, or whose job has failed, has failed") {
  PlayedUnits units;
  Search search(units, {.objectives = {"loss"}, .trials = 4, .parallel = 4});
  search.step();
  units.end(1);
  units.measure(2, 10, 0.5);
  units.end(2, JobState::failed);
  units.measure(3, 10, 0.5);
  std::ofstream(units.directory(3) / "metrics.jsonl", std::ios::app)
      << R"({"step": 20, "kind": "eval", "values": {"loss": null}})"
      << "\n";
  units.end(3);
  units.end(4, JobState::cancelled);
  search.step();
  CHECK(search.is_done());
  for (const search::Trial& trial : search.study.trials()) {
    CHECK(trial.state == search::TrialState::failed);
    CHECK_FALSE(trial.value);
  }
  CHECK(search.detail(0) == "its metrics.jsonl has no eval/loss");
  CHECK(search.detail(1) == "failed");
  CHECK(search.detail(2) == "its last eval/loss is not finite");
  CHECK(search.detail(3) == "cancelled");
}

TEST_CASE("a trial's value is what the search asks for, live, after a kill and of several jobs") {
  PlayedUnits units;
  StudyPlan plan{.objectives = {"loss"}, .trials = 3, .parallel = 3};
  plan.rule.value_of = {.at = search::ValueAt::best, .metric = "accuracy", .goal = Goal::max};
  {
    Search search(units, plan);
    search.step();
    for (const std::int64_t wid : {1, 2, 3}) {
      units.measure(wid, 10, 0.25);
      units.measure(wid, 20, 0.75);
      units.measure(wid, 30, 0.5);
    }
    units.log(1, 10, R"("accuracy": 0.1)", "continuous_eval");
    units.log(1, 20, R"("accuracy": 0.9)", "continuous_eval");
    units.log(1, 30, R"("accuracy": 0.3)", "continuous_eval");
    units.end(1);
    units.log(2, 10, R"("accuracy": 0.1)", "continuous_eval");
    search.step();
    CHECK(search.trial(0).value == 0.75);
  }
  Search search(units, plan);
  units.log(2, 20, R"("accuracy": 0.05)", "continuous_eval");
  units.log(2, 30, R"("accuracy": 0.1)", "continuous_eval");
  units.end(2);
  units.end(3);
  search.step();
  CHECK(search.trial(0).value == 0.75);
  CHECK(search.trial(1).value == 0.5);
  CHECK(search.trial(2).state == search::TrialState::failed);
  CHECK(search.detail(2) == "its metrics.jsonl has no eval/accuracy (seen: eval/loss)");
}

TEST_CASE("a trial of several runs has one value of both") {
  PlayedUnits units;
  StudyPlan plan{.objectives = {"small:loss", "large:loss"}, .trials = 2, .parallel = 2};
  plan.rule.goals = {Goal::min, Goal::min};
  plan.rule.combine = search::CombineConfig{.weights = {1, 3}};
  Search search(units, plan);
  search.step();
  units.log(1, 10, R"("loss": 0.5)", "small");
  units.log(1, 10, R"("loss": 0.25)", "large");
  units.log(1, 10, R"("loss": 100)");
  units.end(1);
  units.log(2, 10, R"("loss": 0.5)", "small");
  units.log(2, 10, R"("error": 0.5)", "large");
  units.end(2);
  search.step();
  CHECK(search.trial(0).value == 0.3125);  // (0.5 + 3 * 0.25) / 4
  CHECK(search.trial(1).state == search::TrialState::failed);
  CHECK(search.detail(1) ==
        "its metrics.jsonl has no large:eval/loss (seen: small:eval/loss, large:eval/error)");
}

TEST_CASE(
    "a value may replace numbers that are not finite, but not those of a job that has failed") {
  PlayedUnits units;
  StudyPlan plan{.objectives = {"loss"}, .trials = 3, .parallel = 3};
  plan.rule.for_nonfinite = 9;
  Search search(units, plan);
  search.step();
  units.log(1, 10, R"("loss": NaN)");
  units.end(1);
  units.log(2, 10, R"("loss": null)");
  units.end(2, JobState::failed);
  units.end(3);
  search.step();
  CHECK(search.trial(0).state == search::TrialState::complete);
  CHECK(search.trial(0).value == 9);
  CHECK(search.trial(1).state == search::TrialState::failed);
  CHECK(search.detail(2) == "its metrics.jsonl has no eval/loss");
}

TEST_CASE("a search that is killed after any number of steps has the same trials in the end") {
  const StudyPlan plan{.objectives = {"loss"}, .trials = 16};
  PlayedUnits alone;
  Search whole(alone, plan);
  for (whole.step(); !whole.is_done(); whole.step()) finish_units(alone);
  REQUIRE(whole.study.trials().size() == 16);
  for (int killed_after = 1; killed_after < 16; killed_after += 3) {
    PlayedUnits units;
    {
      Search first(units, plan);
      for (int i = 0; i < killed_after; ++i) {
        first.step();
        finish_units(units);
      }
    }
    Search second(units, plan);
    for (second.step(); !second.is_done(); second.step()) finish_units(units);
    CHECK(points_of(second) == points_of(whole));
    CHECK(units.units().size() == 16);
  }
}

TEST_CASE("a trial whose unit was not made before a kill gets it afterwards") {
  PlayedUnits units;
  search::Study(units.experiment() / "search.jsonl", branin_space())
      .begin(branin_space().point(std::vector<double>{0.5, 0.5}));
  REQUIRE(units.units().empty());
  Search search(units, {.objectives = {"loss"}, .trials = 1});
  search.step();
  CHECK(search.launched == Wids{1});
  CHECK(units.units()[0].sweep.args == search::SearchPoint{{"x", 2.5}, {"y", 7.5}});
}

TEST_CASE("a stopped trial is canceled with the reason and keeps its measurements") {
  search::AshaConfig config;
  config.min_steps = 10;
  config.reduction_factor = 2;
  search::StopperContext context{.goal = Goal::min};
  const search::Asha asha(config, context);
  PlayedUnits units;
  const StudyPlan plan{.objectives = {"loss"}, .trials = 3, .parallel = 2};
  {
    Search search(units, plan, branin_space(), &asha);
    search.step();
    CHECK(search.followed.contains(units.directory(2) / "metrics.jsonl"));
    units.measure(1, 10, 0.5);
    units.measure(2, 5, 0.9);
    search.step();
    CHECK(search.cancelled.empty());
    units.measure(2, 10, 0.75);
    search.step();
    CHECK(search.cancelled == Wids{2});
    CHECK(search.trial(1).state == search::TrialState::stopped);
    CHECK(search.trial(1).value == 0.75);
    CHECK_THAT(search.detail(1), Contains("rung 10: 0.75 is rank 2 of 2"));
    // It occupies its slot until its job is gone.
    search.step();
    CHECK(search.launched == Wids{1, 2});
    CHECK(search.cancelled == Wids{2});
  }
  // Killed before the job was stopped: it is stopped again, and its curve is still available.
  Search search(units, plan, branin_space(), &asha);
  search.step();
  CHECK(search.cancelled == Wids{2});
  CHECK(search.trial(1).measurements.size() == 2);
  units.end(2, JobState::cancelled);
  search.step();
  CHECK(search.launched == Wids{1, 3});
}

TEST_CASE("the value of a stopped trial is what the search asks for, too") {
  search::AshaConfig config;
  config.min_steps = 20;
  search::StopperContext context{.goal = Goal::min};
  const search::Asha asha(config, context);
  PlayedUnits units;
  StudyPlan plan{.objectives = {"loss"}, .trials = 2, .parallel = 2};
  plan.rule.value_of.at = search::ValueAt::best;
  Search search(units, plan, branin_space(), &asha);
  search.step();
  units.measure(1, 20, 0.25);
  units.measure(2, 10, 0.5);
  units.measure(2, 20, 0.75);
  search.step();
  CHECK(search.trial(1).state == search::TrialState::stopped);
  CHECK(search.trial(1).value == 0.5);
}

TEST_CASE("a stopper sees the combined value of several objectives, also after a kill") {
  search::AshaConfig config;
  config.min_steps = 10;
  config.reduction_factor = 2;
  search::StopperContext context{.goal = Goal::min};
  const search::Asha asha(config, context);
  PlayedUnits units;
  StudyPlan plan{.objectives = {"loss", "time"}, .trials = 2, .parallel = 2};
  plan.rule.goals = {Goal::min, Goal::min};
  plan.rule.combine = {.method = search::CombineMethod::weighted_sum, .weights = {1, 1}};
  {
    Search search(units, plan, branin_space(), &asha);
    search.step();
    units.log(1, 10, R"("loss": 1)");
    units.log(1, 10, R"("time": 5)", "continuous_eval");
    units.log(2, 10, R"("loss": 2)");
    units.end(1);
    search.step();
    CHECK(search.trial(0).value == 3);
    CHECK(search.trial(0).values.empty());
    CHECK(search.trial(1).measurements.empty());
  }
  Search search(units, plan, branin_space(), &asha);
  units.log(2, 10, R"("time": 6)", "continuous_eval");
  search.step();
  CHECK(search.trial(1).state == search::TrialState::stopped);
  CHECK(search.trial(1).value == 4);
  CHECK(search.detail(1) == "rung 10: 4 is rank 2 of 2 trials, and 1 continues");
}

TEST_CASE("events of a stopped unit contain the reason") {
  PlayedUnits units;
  search::SearchRecords records(units);
  records.stop(7, "rung 10");
  const launch::JobEvent events[] = {
      {.wid = 7, .job = "main", .status = {.state = JobState::cancelled}},
      {.wid = 8, .job = "main", .status = {.state = JobState::cancelled, .detail = "by hand"}}};
  records.record(events, Durability::cached);
  CHECK(units.status(7, "main").detail == "rung 10");
  CHECK(units.status(8, "main").detail == "by hand");
  CHECK(records.is_cancelled(7));
  CHECK_FALSE(records.is_cancelled(8));
}

TEST_CASE("a point that was tried before is not run again and counts as a trial") {
  PlayedUnits units;
  Search search(units, {.objectives = {"loss"}, .trials = 12}, two_values());
  search.step();
  while (!search.is_done()) {
    for (const launch::WorkUnit& unit : units.units()) {
      if (launch::is_final(units.status(unit.wid, "main").state)) continue;
      units.measure(unit.wid, 1, number_of(unit.sweep.args, 0));
      units.end(unit.wid);
    }
    search.step();
  }
  CHECK(units.units().size() == 2);
  CHECK(search.study.trials().size() == 12);
  for (const search::Trial& trial : search.study.trials()) {
    CHECK(trial.value == number_of(trial.point, 0));
  }
}

TEST_CASE("a point that no config can have is a failed trial") {
  PlayedUnits units;
  units.refuses = [](const launch::SweepItem& item) { return item.args[0].second == Value(2); };
  Search search(units, {.objectives = {"loss"}, .trials = 8}, two_values());
  for (search.step(); !search.is_done(); search.step()) {
    units.measure(1, 1, 0.5);
    units.end(1);
  }
  CHECK(units.units().size() == 1);
  for (std::size_t i = 0; i < 8; ++i) {
    const bool good = search.trial(i).point[0].second == Value(1);
    CHECK(search.trial(i).state ==
          (good ? search::TrialState::complete : search::TrialState::failed));
    if (!good) CHECK_THAT(search.detail(static_cast<std::int64_t>(i)), Contains("n: cannot be"));
  }
}

TEST_CASE("a search gives up after consecutive failures") {
  PlayedUnits units;
  Search search(units, {.objectives = {"loss"}, .trials = 20, .max_failures = 3});
  for (search.step(); !search.is_done(); search.step()) {
    units.end(std::ssize(units.units()), JobState::failed);
  }
  CHECK(search.study.trials().size() == 3);
  CHECK(search.study.failures_in_a_row() == 3);
}

TEST_CASE("a search that is canceled as a whole starts no more trials") {
  PlayedUnits units;
  Search search(units, {.objectives = {"loss"}, .trials = 20, .parallel = 2});
  search.step();
  units.cancelled.insert(launch::kWholeExperiment);
  units.end(1, JobState::cancelled);
  search.step();
  CHECK(search.launched == Wids{1, 2});
  CHECK(search.cancelled == Wids{2});
  CHECK_FALSE(search.is_done());
  search.step();
  CHECK(search.cancelled == Wids{2});
  units.end(2, JobState::cancelled);
  search.step();
  CHECK(search.is_done());
}

TEST_CASE("a trial has failed if it lacks one of several objectives") {
  PlayedUnits units;
  Search search(units, {.objectives = {"loss", "time"}, .trials = 2, .parallel = 2});
  search.step();
  for (const std::int64_t wid : {1, 2}) units.measure(wid, 1, 0.5);
  std::ofstream(units.directory(2) / "metrics.jsonl", std::ios::app)
      << R"({"step": 2, "kind": "eval", "values": {"loss": 0.25, "time": 3}})"
      << "\n";
  units.end(1);
  units.end(2);
  search.step();
  CHECK(search.trial(0).state == search::TrialState::failed);
  CHECK_THAT(search.detail(0), Catch::Matchers::Contains("its metrics.jsonl has no eval/time"));
  CHECK_FALSE(search.trial(0).value);
  CHECK(search.trial(1).state == search::TrialState::complete);
  CHECK(search.trial(1).value == 0.25);
  CHECK(search.trial(1).values == std::vector{0.25, 3.0});
}
