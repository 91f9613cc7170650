// SPDX-License-Identifier: Apache-2.0
// The contract of samplers, on a space with one dimension of each kind.
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "sampler_promises.h"
#include "search/samplers/cma_es.h"
#include "search/samplers/gaussian_process.h"
#include "search/samplers/nsga2.h"
#include "search/samplers/random.h"
#include "search/samplers/regularized_evolution.h"
#include "search/samplers/sobol.h"
#include "search/samplers/tpe.h"

using namespace trivet;
using namespace trivet::test;

namespace {

struct Named {
  std::string name;
  SamplerMaker make;
};

std::vector<Named> all_samplers() {
  search::TpeConfig apart;
  apart.multivariate = false;
  search::RegularizedEvolutionConfig young;
  young.population = 8;
  young.tournament = 3;
  return {{"Random", maker_of<search::Random>()},
          {"Sobol", maker_of<search::Sobol>()},
          {"Tpe", maker_of<search::Tpe>()},
          {"Tpe, dimensions apart", maker_of<search::Tpe>(apart)},
          {"CmaEs", maker_of<search::CmaEs>()},
          {"Nsga2", maker_of<search::Nsga2>()},
          {"RegularizedEvolution", maker_of<search::RegularizedEvolution>(young)},
          {"GaussianProcess", maker_of<search::GaussianProcess>()}};
}

void for_all_samplers(void (*check)(const SamplerMaker&)) {
  for (const auto& [name, make] : all_samplers()) {
    INFO(name);
    check(make);
  }
}

}  // namespace

TEST_CASE("a sampler proposes the same points for the same history") {
  for_all_samplers(check_resumes);
}

TEST_CASE("another seed gives another search") {
  const search::SearchSpace space = mixed_space();
  for (const auto& [name, make] : all_samplers()) {
    INFO(name);
    CHECK(make(space, 1, Goal::min)->ask(0, {}) != make(space, 2, Goal::min)->ask(0, {}));
  }
}

TEST_CASE("searching for the most is searching for the least of the negative") {
  for_all_samplers(check_goals);
}

TEST_CASE("samplers propose points of the space after any results") {
  for_all_samplers(check_points_of_space);
}

TEST_CASE("samplers search lists of candidates") {
  for_all_samplers(check_lists);
}

TEST_CASE("trials that run at the same time are at different points") {
  for_all_samplers(check_parallel_points);
}

TEST_CASE("the samplers that learn come nearer to the optimum of a mixed space than random points",
          "[slow]") {
  const double random = mean_best_on_mixed(maker_of<search::Random>());
  CHECK(mean_best_on_mixed(maker_of<search::Tpe>()) < random);
  CHECK(mean_best_on_mixed(maker_of<search::CmaEs>()) < random);
  CHECK(mean_best_on_mixed(maker_of<search::GaussianProcess>()) < random);
}

TEST_CASE("a history with a point of another space is refused by key") {
  const auto history = run_search(*make_sampler<search::Random>({}, branin_space(), 1), branin, 12);
  const auto tpe = make_sampler<search::Tpe>({}, mixed_space(), 1);
  CHECK_THROWS_WITH(tpe->ask(12, history), Catch::Matchers::Contains("lr: "));
}
