// SPDX-License-Identifier: Apache-2.0
// search/Orchestrator over a simulated one, which runs every unit at once.
#include "search/study/search_orchestrator.h"

#include <cmath>

#include <catch2/catch.hpp>

#include "host/item_collector.h"
#include "plugins/config_round_trip.h"
#include "plugins/search/study.h"
#include "plugins/search/units.h"
#include "search/samplers/random.h"
#include "search/study/study.h"
#include "trivet/config/json.h"
#include "trivet/os/file.h"
#include "trivet/plugin.h"

using namespace trivet;
using namespace trivet::test;
using Catch::Matchers::Contains;
using launch::JobState;

namespace {

struct PlayedConfig : launch::OrchestratorConfig {
  bool supervises = true;
};
TRIVET_CONFIG(PlayedConfig, launch::OrchestratorConfig,
              (supervises, "Or it is asked, as a cluster is."))

// The recorded calls.
struct Calls {
  std::vector<std::size_t> checked;  // units
  std::vector<std::int64_t> launched, cancelled;
  bool refuse = false;
  int lost = 0;  // how often it is unreachable
  int looks = 0;
} calls;

// The units of the running test.
PlayedUnits* played = nullptr;

class Played final : public launch::Orchestrator {
 public:
  using Config = PlayedConfig;
  Played(const Config& config, launch::OrchestratorContext& context)
      : config_(config), context_(context) {}

  void check(std::span<const launch::WorkUnit> units, Diagnostics& diagnostics) override {
    calls.checked.push_back(units.size());
    if (calls.refuse) diagnostics.add("jobs.main.cores", "too many");
  }
  void launch(std::span<const launch::WorkUnit> units) override {
    reach();
    for (const launch::WorkUnit& unit : units) calls.launched.push_back(unit.wid);
  }
  void cancel(std::span<const std::int64_t> wids) override {
    calls.cancelled.insert(calls.cancelled.end(), wids.begin(), wids.end());
  }
  void refresh(std::span<const std::int64_t> wids) override {
    reach();
    for (const std::int64_t wid : wids) run(wid);
  }
  bool has_supervisor() const override { return config_.supervises; }
  void supervise(const launch::Supervision& supervision) override {
    while (!supervision.should_stop()) {
      std::vector<std::int64_t> open;
      for (const launch::WorkUnit& unit : context_.records.units()) {
        const JobState state = context_.records.status(unit.wid, "main").state;
        if (!launch::is_final(state)) open.push_back(unit.wid);
      }
      if (open.empty()) return;
      run(open.front());
    }
  }

 private:
  // Fails every second time while `lost` lasts.
  static void reach() {
    if (calls.lost > 0 && --calls.lost % 2 == 0) throw RunError("the controller does not answer");
  }

  void run(std::int64_t wid) {
    const launch::WorkUnit unit = context_.records.units()[static_cast<std::size_t>(wid - 1)];
    played->measure(wid, 1, branin(unit.sweep.args));
    const launch::JobEvent event{
        .wid = wid, .job = "main", .status = {.state = JobState::completed}};
    context_.records.record({&event, 1}, Durability::cached);
  }

  Config config_;
  launch::OrchestratorContext& context_;
};

void register_played() {
  static const bool done = [] {
    constexpr About about{.name = "played", .version = "1.0.0", .license = "Apache-2.0"};
    ItemCollector items;
    detail::register_item(items, about, orchestrator<Played>("Orchestrator", "Runs at once."));
    detail::register_item(items, about, sampler<search::Random>("Random", "Random points."));
    registry().add({.name = "played", .version = "1.0.0"}, std::move(items.items));
    return true;
  }();
  (void)done;
  calls = {};
}

search::SearchConfig branin_search() {
  register_played();
  search::SearchConfig config;
  config.orchestrator = "played/Orchestrator";
  config.sampler = "played/Random";
  config.objective = "loss";
  config.goal = Goal::min;
  config.trials = 7;
  config.parallel = 2;
  config.space["x"].uniform = {-5, 10};
  config.space["y"].uniform = {0, 15};
  return config;
}

// The orchestrator of an experiment, set up as the host does.
struct Launched {
  explicit Launched(const search::SearchConfig& config)
      : context{units.experiment(), units, [this] { ++supervisors; }},
        orchestrator(config, context) {
    played = &units;
  }

  // Runs until it is done, or for `looks` polls.
  void supervise(int looks = 1000) {
    orchestrator.supervise(
        {.should_stop = [looks] { return ++calls.looks > looks; }, .wake_fd = -1});
  }

  PlayedUnits units;
  int supervisors = 0;
  launch::OrchestratorContext context;
  search::SearchOrchestrator orchestrator;
};

}  // namespace

TEST_CASE("a search runs its trials by an orchestrator with a supervisor, and by one without") {
  search::SearchConfig config = branin_search();
  const bool supervises = GENERATE(true, false);
  config.orchestrator = {"played/Orchestrator", Value::table({{"supervises", supervises}})};
  config.refresh_interval = 0.001;
  Launched launched(config);
  launched.supervise();
  CHECK(launched.units.units().size() == 7);
  CHECK(calls.launched == std::vector<std::int64_t>{1, 2, 3, 4, 5, 6, 7});
  const search::Study study(launched.units.experiment() / "search.jsonl", branin_space());
  REQUIRE(study.trials().size() == 7);
  for (const search::Trial& trial : study.trials()) {
    CHECK(trial.state == search::TrialState::complete);
    // As written in the file: six digits.
    CHECK(*trial.value == Approx(branin(trial.point)).epsilon(1e-5));
  }
  calls = {};
  launched.supervise();
  CHECK(calls.launched.empty());
}

TEST_CASE("a search outlives a cluster that is out of reach for a while") {
  search::SearchConfig config = branin_search();
  config.orchestrator = {"played/Orchestrator", Value::table({{"supervises", false}})};
  config.refresh_interval = 0.001;
  Launched launched(config);
  calls.lost = 9;
  launched.supervise();
  CHECK(calls.lost == 0);
  CHECK(launched.units.units().size() == 7);
  const search::Study study(launched.units.experiment() / "search.jsonl", branin_space());
  CHECK(study.trials().size() == 7);
  for (const search::Trial& trial : study.trials()) {
    CHECK(trial.state == search::TrialState::complete);
  }
  calls.lost = 1'000'000;
  Launched stopped(config);
  stopped.supervise(20);
  CHECK(calls.looks > 20);
}

TEST_CASE("combined objectives are one objective for samplers and records") {
  search::SearchConfig config = branin_search();
  config.objective.clear();
  config.goal.reset();
  config.objectives = {{"loss", Goal::max}, {"time", Goal::min}};
  config.combine =
      search::CombineConfig{.method = search::CombineMethod::mnas_soft, .cost_objective = 2};
  Launched launched(config);
  Diagnostics diagnostics;
  launched.orchestrator.check({}, diagnostics);
  CHECK(diagnostics.list().empty());
  CHECK_THAT(launched.orchestrator.intent()[0],
             Contains("the max of mnas_soft(eval/loss, eval/time): 7 trials"));
  CHECK_THROWS_WITH(launched.supervise(), Contains("has no eval/time (seen: eval/loss)"));
  const Value goal = value_from_json(
      read_text_file(launched.units.experiment() / "search.json", 1 << 20), "search.json");
  CHECK(goal.string_or("objective") == "mnas_soft(eval/loss, eval/time)");
  CHECK(goal.string_or("goal") == "max");
  CHECK(goal.find("objectives") == nullptr);
  REQUIRE(goal.find("combined") != nullptr);
  CHECK(goal.find("combined")->items().size() == 2);
}

TEST_CASE("a search that is asked to stop ends, and the next supervisor continues it") {
  Launched launched(branin_search());
  launched.supervise(3);
  CHECK(launched.units.units().size() < 7);
  calls.looks = 0;
  launched.supervise();
  CHECK(launched.units.units().size() == 7);
}

TEST_CASE("launching a search starts its supervisor, which makes the units") {
  Launched launched(branin_search());
  CHECK(launched.orchestrator.makes_units());
  CHECK(launched.orchestrator.has_supervisor());
  launched.orchestrator.launch({});
  CHECK(launched.supervisors == 1);
  CHECK(launched.units.units().empty());
}

TEST_CASE("before a search starts, units at all ends of its space are checked") {
  search::SearchConfig config = branin_search();
  config.space["n"].choice = std::vector<Value>{1, 2, 3};
  Launched launched(config);
  Diagnostics diagnostics;
  launched.orchestrator.check({}, diagnostics);
  CHECK(diagnostics.list().empty());
  CHECK(calls.checked == std::vector<std::size_t>{3});
  const auto units = launched.units.units();
  CHECK(units[0].sweep.args == search::SearchPoint{{"x", -5.0}, {"y", 0.0}, {"n", 1}});
  CHECK(units[1].sweep.args == search::SearchPoint{{"x", 10.0}, {"y", 15.0}, {"n", 2}});
  CHECK(units[2].sweep.args == search::SearchPoint{{"x", -5.0}, {"y", 0.0}, {"n", 3}});
  calls.refuse = true;
  launched.orchestrator.check({}, diagnostics);
  REQUIRE(diagnostics.list().size() == 1);
  CHECK(diagnostics.list()[0].path == "jobs.main.cores");
}

TEST_CASE("a unit that is cancelled by hand is cancelled where it runs") {
  Launched launched(branin_search());
  const std::int64_t wids[] = {2, 3};
  launched.orchestrator.cancel(wids);
  CHECK(calls.cancelled == std::vector<std::int64_t>{2, 3});
}

TEST_CASE("what a trial's value is of is checked by path") {
  const auto refusal = [](search::SearchConfig config) -> std::string {
    Diagnostics diagnostics;
    config.validate(diagnostics);
    if (diagnostics.list().empty()) return "accepted";
    return diagnostics.list()[0].path + ": " + diagnostics.list()[0].what;
  };
  search::SearchConfig config = branin_search();
  const auto with = [&](const search::ValueOfConfig& value_of) {
    config.value_of = value_of;
    return refusal(config);
  };
  using enum search::ValueAt;
  CHECK(with({.at = best}) == "accepted");
  CHECK(with({.at = mean, .last_n = 3}) == "accepted");
  CHECK(with({.at = best, .metric = "eval/loss"}) == "accepted");
  CHECK(with({.at = best, .metric = "time", .goal = Goal::max}) == "accepted");
  CHECK(with({.at = best, .last_n = 3}) == "value_of.last_n: has no effect with at = \"best\"");
  CHECK(with({.at = last, .metric = "loss"}) ==
        "value_of.metric: has no effect with at = \"last\"");
  CHECK(with({.at = mean, .goal = Goal::max}) == "value_of.goal: has no effect with at = \"mean\"");
  CHECK(with({.at = best, .metric = "time"}) ==
        "value_of.goal: is required: 'time' is no objective");
  CHECK(with({.at = best, .goal = Goal::max}) ==
        "value_of.goal: is the goal of value_of.metric, which is not set");
  CHECK_THAT(with({.at = best, .metric = "a\"b", .goal = Goal::max}), Contains("quotes"));
  CHECK_THROWS_WITH(decode<search::ValueOfConfig>(Value::table({{"at", "mean"}, {"last_n", 0}}),
                                                  "xp.orchestrator.value_of"),
                    Contains("xp.orchestrator.value_of.last_n"));
  config.value_of = {};
  config.objective = "*/loss";
  CHECK(refusal(config) == "objective: '*/loss' may be several numbers");
  config.objective = "max(*/loss)";
  CHECK(refusal(config) == "accepted");
  CHECK(with({.at = best, .metric = "max(eval/*/loss)"}) == "accepted");
  config = branin_search();
  config.value_for_nonfinite = 5;
  CHECK(refusal(config) == "accepted");
  check_round_trip(config);
  config.value_for_nonfinite = INFINITY;
  CHECK(refusal(config) == "value_for_nonfinite: is not finite itself");
  config.objective.clear();
  config.goal.reset();
  config.objectives = {{"loss", Goal::min}, {"time", Goal::max}};
  config.value_for_nonfinite = 5;
  CHECK(refusal(config) == "value_for_nonfinite: is one value, and there are several objectives");
  config.combine =
      search::CombineConfig{.method = search::CombineMethod::weighted_sum, .weights = {1, 2}};
  CHECK(refusal(config) == "accepted");
  CHECK(with({.at = best}) == "accepted");
  config.stopper = "search/Median";
  CHECK(refusal(config) == "accepted");
  check_round_trip(config);
  config.combine.reset();
  config.value_for_nonfinite.reset();
  CHECK(refusal(config) == "stopper: a stopper compares one objective");
  config.stopper = {};
  CHECK(with({.at = best}) == "value_of.metric: there are several objectives");
  CHECK(with({.at = best, .metric = "time"}) == "accepted");
  CHECK(with({.at = mean}) == "accepted");
}

TEST_CASE("invalid configs of a search are refused") {
  const auto refusal = [](const search::SearchConfig& config) -> std::string {
    Diagnostics diagnostics;
    config.validate(diagnostics);
    return diagnostics.list().empty() ? "accepted" : diagnostics.list()[0].what;
  };
  search::SearchConfig config = branin_search();
  CHECK(refusal(config) == "accepted");
  check_round_trip(config);
  config.objective = "a\"b";
  CHECK_THAT(refusal(config), Contains("quotes"));
  config = branin_search();
  config.refresh_interval = 1e300;
  CHECK_THAT(refusal(config), Contains("at most an hour"));
  config = branin_search();
  config.space.clear();
  CHECK_THAT(refusal(config), Contains("nothing to search"));
  config = branin_search();
  config.objective.clear();
  config.goal.reset();
  config.objectives = {{"loss", Goal::min}, {"time", Goal::max}};
  CHECK(refusal(config) == "accepted");
  check_round_trip(config);
  config.enqueue.resize(8);
  CHECK_THAT(refusal(config), Contains("has 8 points for 7 trials"));
}
