// SPDX-License-Identifier: Apache-2.0
// Regularized evolution: who is a parent, and how its children differ.
#include "search/samplers/regularized_evolution.h"

#include <algorithm>
#include <set>

#include <catch2/catch.hpp>

#include "plugins/search/samplers/sampler_promises.h"
#include "search/samplers/random.h"

namespace regularized_evolution_test {

using namespace trivet;
using namespace trivet::test;

search::RegularizedEvolutionConfig sizes(std::int64_t population, std::int64_t tournament) {
  search::RegularizedEvolutionConfig config;
  config.population = population;
  config.tournament = tournament;
  return config;
}

// The keys in which two points differ.
std::set<std::string> changes(const search::SearchPoint& one, const search::SearchPoint& other) {
  std::set<std::string> keys;
  for (const auto* point : {&one, &other}) {
    const auto& rest = point == &one ? other : one;
    for (const auto& pair : *point) {
      if (std::find(rest.begin(), rest.end(), pair) == rest.end()) keys.insert(pair.first);
    }
  }
  return keys;
}

TEST_CASE("evolution starts with as many random points as its population has") {
  const auto sampler = make_sampler<search::RegularizedEvolution>(sizes(5, 2), mixed_space(), 3);
  const auto random = make_sampler<search::Random>({}, mixed_space(), 3);
  const auto history = run_search(*sampler, mixed, 5);
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(history[i].point == random->ask(static_cast<std::int64_t>(i), {}));
  }
  CHECK(sampler->ask(5, history) != random->ask(5, {}));
  // A failed trial is none of the population.
  auto failed = history;
  failed[2].state = search::TrialState::failed;
  CHECK(sampler->ask(5, failed) == random->ask(5, {}));
}

TEST_CASE("the parent is the best of the young trials, and a child differs in one key") {
  const search::SearchSpace space = mixed_space();
  for (const Goal goal : {Goal::min, Goal::max}) {
    const auto sampler = make_sampler<search::RegularizedEvolution>(sizes(4, 4), space, 3, goal);
    const auto random = make_sampler<search::Random>({}, space, 9);
    std::vector<search::Trial> history;
    // Of the first, whose value is the best for either goal, too much time has gone by.
    const double best = goal == Goal::min ? 1 : 9;
    for (const double value : {10 * (best - 5), best, 5.0, 5.0, 5.0}) {
      const std::int64_t number = std::ssize(history);
      history.push_back(complete_trial(number, random->ask(number, {}), value));
    }
    std::set<std::string> changed;
    for (int number = 5; number < 65; ++number) {
      const auto keys = changes(sampler->ask(number, history), history[1].point);
      REQUIRE(keys.size() == 1);
      changed.insert(*keys.begin());
    }
    CHECK(changed.size() == space.size());
  }
}

TEST_CASE("of equals the youngest is the parent, and a tournament leaves some out") {
  const search::SearchSpace space = mixed_space();
  const auto random = make_sampler<search::Random>({}, space, 9);
  std::vector<search::Trial> history;
  for (std::int64_t number = 0; number < 4; ++number) {
    history.push_back(complete_trial(number, random->ask(number, {}), number < 3 ? 1 : 2));
  }
  const auto all = make_sampler<search::RegularizedEvolution>(sizes(4, 4), space, 3);
  const auto pair = make_sampler<search::RegularizedEvolution>(sizes(4, 2), space, 3);
  std::set<std::size_t> parents;
  for (int number = 4; number < 64; ++number) {
    CHECK(changes(all->ask(number, history), history[2].point).size() == 1);
    const search::SearchPoint child = pair->ask(number, history);
    for (std::size_t i = 0; i < 4; ++i) {
      if (changes(child, history[i].point).size() == 1) parents.insert(i);
    }
  }
  // The worst one of four loses to any other.
  CHECK(parents == std::set<std::size_t>{0, 1, 2});
}

TEST_CASE("children have the keys that their conditions ask for") {
  Map<search::DimensionConfig> config;
  config["kind"].choice = std::vector<Value>{"a", "b"};
  config["x"].uniform = {0, 1};
  config["x"].when["kind"] = "a";
  config["n"].choice = std::vector<Value>{1};
  const search::SearchSpace space(config);
  const auto sampler = make_sampler<search::RegularizedEvolution>(sizes(2, 2), space, 3);
  std::vector<search::Trial> history;
  for (int number = 0; number < 2; ++number) {
    history.push_back(complete_trial(number, {{"kind", "b"}, {"n", 1}}, 1));
  }
  // The kind is the only key of the parent that has another value.
  const search::SearchPoint child = sampler->ask(2, history);
  REQUIRE(child.size() == 3);
  CHECK(child[0].second == Value("a"));
  CHECK_NOTHROW(space.unit(child));
  for (search::Trial& trial : history) trial.point = child;
  bool moved = false;
  for (int number = 2; number < 32; ++number) {
    const search::SearchPoint next = sampler->ask(number, history);
    CHECK_NOTHROW(space.unit(next));
    moved |= next.size() == 3 && next[1].second != child[1].second;
  }
  CHECK(moved);
}

TEST_CASE("a tournament of more than the population is refused") {
  CHECK_THROWS_WITH(decode<search::RegularizedEvolutionConfig>(
                        Value::table({{"population", 4}, {"tournament", 5}}), "sampler"),
                    Catch::Matchers::Contains("sampler.tournament"));
}

}  // namespace regularized_evolution_test
