// SPDX-License-Identifier: Apache-2.0
// dlib's global search: the contract of samplers, and the results of its steps.
#include "dlib/global_search.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "plugins/config_round_trip.h"
#include "plugins/search/samplers/sampler_promises.h"
#include "search/samplers/random.h"
#include "support/plugins.h"
#include "trivet/plugin/registry.h"

using namespace trivet;
using namespace trivet::test;

namespace {

const SamplerMaker kMake = maker_of<trivet::dlib::GlobalSearch>();

std::unique_ptr<search::Sampler> sampler_of(const search::SearchSpace& space,
                                            std::int64_t seed = 1) {
  return kMake(space, seed, Goal::min);
}

search::SearchSpace space_of(search::DimensionConfig dimension) {
  Map<search::DimensionConfig> config;
  config["x"] = std::move(dimension);
  return search::SearchSpace(config);
}

std::size_t different_points(const std::vector<search::Trial>& history) {
  std::set<std::string> points;
  for (const search::Trial& trial : history) points.insert(text_of(trial.point));
  return points.size();
}

}  // namespace

TEST_CASE("dlib's search proposes the same points for the same history") {
  check_resumes(kMake);
}

TEST_CASE("dlib's search for the most is that for the least of the negative") {
  check_goals(kMake);
}

TEST_CASE("dlib's search proposes points of the space after any results") {
  check_points_of_space(kMake);
}

TEST_CASE("dlib's search asks for different points at the same time") {
  check_parallel_points(kMake);
  // From the first point on: no trial has ended yet.
  const auto sampler = sampler_of(branin_space());
  std::vector<search::Trial> running;
  for (int number = 0; number < 8; ++number) {
    running.push_back({.number = number, .point = sampler->ask(number, running)});
  }
  CHECK(different_points(running) == 8);
}

TEST_CASE("dlib's search starts in the middle of every range, on its scale") {
  const search::SearchPoint first = sampler_of(mixed_space())->ask(0, {});
  CHECK(number_of(first, 0) == Approx(std::pow(10, -2.5)));  // 1e-5 to 1, by logarithm
  CHECK(number_of(first, 1) == Approx(0.25));
  CHECK(first[2].second == Value(3));
  CHECK(first[3].second == Value(62));  // sqrt(7.5 * 512.5) is 61.998
  CHECK(first[4].second == Value("gelu"));
  CHECK(first[5].second == Value(false));  // of two the later
}

TEST_CASE("dlib's search goes other ways with another seed") {
  const auto one = run_search(*sampler_of(mixed_space(), 1), mixed, 2);
  const auto other = run_search(*sampler_of(mixed_space(), 2), mixed, 2);
  CHECK(one[1].point != other[1].point);
}

TEST_CASE("dlib's quadratic and its bound alternate") {
  const auto sampler = sampler_of(branin_space());
  const std::vector<search::Trial> history = run_search(*sampler, branin, 12);
  // The maximum of the quadratic is not random; the bound is evaluated at random points.
  CHECK(sampler->ask(12, history) == sampler->ask(14, history));
  CHECK(sampler->ask(13, history) != sampler->ask(12, history));
  CHECK(sampler->ask(13, history) != sampler->ask(15, history));
}

TEST_CASE("dlib's quadratic finds the bottom of a parabola of logarithms") {
  search::DimensionConfig rate;
  rate.log_uniform = {1e-6, 1};
  // A quadratic through three points reaches the bottom of a parabola at once.
  const Function parabola = [](const search::SearchPoint& point) {
    return std::pow(std::log10(number_of(point, 0)) + 4, 2);
  };
  CHECK(least_value(run_search(*sampler_of(space_of(rate)), parabola, 12)) < 1e-6);
}

TEST_CASE("dlib's quadratic moves integers") {
  search::DimensionConfig width;
  width.int_ = {0, 1000};
  const Function parabola = [](const search::SearchPoint& point) {
    return std::pow(number_of(point, 0) - 613, 2);
  };
  for (int seed = 0; seed < 5; ++seed) {
    CHECK(least_value(run_search(*sampler_of(space_of(width), seed), parabola, 16)) == 0);
  }
}

TEST_CASE("dlib's search tries no integer twice while there are others") {
  search::DimensionConfig depth;
  depth.int_ = {0, 20};
  // Not a parabola: quadratics predict improvement between the integers around the best one.
  const Function valley = [](const search::SearchPoint& point) {
    return std::pow(std::abs(number_of(point, 0) - 7.3), 1.5);
  };
  for (int seed = 0; seed < 5; ++seed) {
    CHECK(different_points(run_search(*sampler_of(space_of(depth), seed), valley, 12)) == 12);
  }
}

TEST_CASE("dlib's search repeats a point if there are no others") {
  search::DimensionConfig flag;
  flag.choice = std::vector<Value>{true, false};
  const auto history = run_search(
      *sampler_of(space_of(flag)), [](const auto&) { return 1; }, 6);
  CHECK(different_points(history) == 2);
}

TEST_CASE("to dlib's search a trial that failed is as bad as the worst") {
  const auto sampler = sampler_of(branin_space());
  std::vector<search::Trial> history = run_search(*sampler, branin, 20);
  double worst = 0;
  for (const search::Trial& trial : history) worst = std::max(worst, *trial.value);
  std::vector<search::Trial> as_worst = history;
  // The next point of the quadratic, so that the result of this point matters.
  const search::SearchPoint point = sampler->ask(20, history);
  history.push_back({.number = 20, .state = search::TrialState::failed, .point = point});
  as_worst.push_back(complete_trial(20, point, worst));
  for (const int number : {21, 22}) {  // a step of the bound, and one of the quadratic
    const search::SearchPoint next = sampler->ask(number, history);
    CHECK(next == sampler->ask(number, as_worst));
    CHECK(next != point);
  }
}

TEST_CASE("dlib's search continues after nothing but failures") {
  const auto sampler = sampler_of(mixed_space());
  std::vector<search::Trial> history;
  for (int number = 0; number < 10; ++number) {
    history.push_back({.number = number,
                       .state = search::TrialState::failed,
                       .point = sampler->ask(number, history)});
  }
  CHECK(different_points(history) == 10);
}

TEST_CASE("dlib's search gets over losses that are all equal, or too large") {
  const auto flat = run_search(
      *sampler_of(mixed_space()), [](const auto&) { return 0.5; }, 20);
  CHECK(different_points(flat) == 20);
  // dlib's quadratic finds no best point among losses above 1e300.
  const Function huge = [](const search::SearchPoint& point) {
    return 1e306 * (10 + mixed(point));
  };
  CHECK(different_points(run_search(*sampler_of(mixed_space()), huge, 20)) == 20);
}

TEST_CASE("dlib's search is not held up by a choice of one") {
  Map<search::DimensionConfig> config;
  config["task"].choice = std::vector<Value>{"only"};
  const auto fixed = sampler_of(search::SearchSpace(config));
  CHECK(text_of(fixed->ask(0, {})) == "task=\"only\" ");

  // Together with others it has no effect.
  config["x"].uniform = {-5, 10};
  config["y"].uniform = {0, 15};
  const Function function = [](const search::SearchPoint& point) {
    return branin({point[1], point[2]});
  };
  const auto with = run_search(*sampler_of(search::SearchSpace(config)), function, 20);
  const auto without = run_search(*sampler_of(branin_space()), branin, 20);
  for (std::size_t i = 0; i < 20; ++i) {
    CHECK(search::SearchPoint{with[i].point[1], with[i].point[2]} == without[i].point);
  }
}

TEST_CASE("dlib's search refuses a history with a point of another space by key") {
  const auto history = run_search(*sampler_of(branin_space()), branin, 5);
  CHECK_THROWS_WITH(sampler_of(mixed_space())->ask(5, history), Catch::Matchers::Contains("lr: "));
}

TEST_CASE("dlib's search comes nearer to the optimum of a mixed space than random points") {
  const double found = mean_best_on_mixed(kMake);
  CHECK(found < mean_best_on_mixed(maker_of<search::Random>()));
  CHECK(found < -3.5);  // -4 is the least
}

TEST_CASE("on Branin's function dlib's search beats random search") {
  const double found = median_best_on_branin(kMake);
  CHECK(found < median_best_on_branin(maker_of<search::Random>()));
  CHECK(found < 0.41);
}

TEST_CASE("dlib's search is made by its key, and its settings matter") {
  use_plugin("dlib");
  const auto last = [](Value fields) {
    search::SamplerContext context{.space = branin_space(), .goal = Goal::min, .seed = 1};
    const auto sampler =
        make(ConfigOf<search::Sampler>("dlib/GlobalSearch", std::move(fields)), context);
    return text_of(run_search(*sampler, branin, 10).back().point);
  };
  const std::string usual =
      text_of(run_search(*sampler_of(branin_space()), branin, 10).back().point);
  CHECK(last(Value::table()) == usual);
  // The last trial is a step of the bound.
  CHECK(last(Value::table({{"pure_random_search_probability", 1.0}})) != usual);
  CHECK(last(Value::table({{"monte_carlo_upper_bound_samples", 10}})) != usual);
  CHECK(last(Value::table({{"relative_noise_magnitude", 1.0}})) != usual);
  // No improvement is that large, so all steps are random.
  CHECK(last(Value::table({{"solver_epsilon", 1e9}})) != usual);
}

TEST_CASE("the config of dlib's search survives the way to a file and back") {
  check_round_trip(trivet::dlib::GlobalSearchConfig{});
}
