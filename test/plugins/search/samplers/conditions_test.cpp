// SPDX-License-Identifier: Apache-2.0
// Samplers on a space with conditions.
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "plugins/search/study.h"
#include "sampler_promises.h"
#include "search/samplers/cma_es.h"
#include "search/samplers/gaussian_process.h"
#include "search/samplers/nsga2.h"
#include "search/samplers/random.h"
#include "search/samplers/sobol.h"
#include "search/samplers/tpe.h"

namespace conditions_test {

using namespace trivet;
using namespace trivet::test;

namespace {

// The models have numbers of their own; least (0) for cnn with 5 kernels and lr = 0.01.
search::SearchSpace models() {
  Map<search::DimensionConfig> config;
  config["model"].choice = std::vector<Value>{"mlp", "cnn"};
  config["lr"].log_uniform = {1e-4, 1};
  config["kernels"].int_ = {1, 8};
  config["kernels"].when["model"] = "cnn";
  config["width"].log_int = {8, 512};
  config["width"].when["model"] = "mlp";
  return search::SearchSpace(config);
}

double loss(const search::SearchPoint& point) {
  const double lr = std::log10(number_of(point, 1)) + 2;
  const double own = number_of(point, 2);
  if (point[0].second == Value("mlp")) return 1 + lr * lr + std::pow(std::log2(own) - 5, 2) / 4;
  return lr * lr + std::pow(own - 5, 2) / 4;
}

struct Named {
  std::string name;
  SamplerMaker make;
};

std::vector<Named> samplers() {
  search::TpeConfig apart;
  apart.multivariate = false;
  return {{"Random", maker_of<search::Random>()},
          {"Sobol", maker_of<search::Sobol>()},
          {"Tpe", maker_of<search::Tpe>()},
          {"Tpe, dimensions apart", maker_of<search::Tpe>(apart)},
          {"Nsga2", maker_of<search::Nsga2>()},
          {"GaussianProcess", maker_of<search::GaussianProcess>()}};
}

}  // namespace

TEST_CASE("samplers that take conditions propose points that fit them", "[slow]") {
  const search::SearchSpace space = models();
  for (const auto& [name, make] : samplers()) {
    INFO(name);
    const auto sampler = make(space, 3, Goal::min);
    CHECK(sampler->takes_conditions());
    bool has_mlp = false, has_cnn = false;
    for (const search::Trial& trial : run_search(*sampler, loss, 40)) {
      CHECK_NOTHROW(space.unit(trial.point));
      REQUIRE(trial.point.size() == 3);
      const bool is_cnn = trial.point[0].second == Value("cnn");
      CHECK(trial.point[2].first == (is_cnn ? "kernels" : "width"));
      (is_cnn ? has_cnn : has_mlp) = true;
    }
    CHECK((has_mlp && has_cnn));
  }
}

TEST_CASE("a sampler on a space with conditions proposes the same points for the same history") {
  const search::SearchSpace space = models();
  for (const auto& [name, make] : samplers()) {
    INFO(name);
    const auto history = run_search(*make(space, 5, Goal::min), loss, 30);
    for (const std::size_t at : {0u, 11u, 21u, 29u}) {
      CHECK(make(space, 5, Goal::min)
                ->ask(static_cast<std::int64_t>(at), std::span(history).first(at)) ==
            history[at].point);
    }
  }
}

TEST_CASE("Tpe and GaussianProcess come nearer to the optimum of a tree than random points",
          "[slow]") {
  const auto mean_best = [](const SamplerMaker& make) {
    double sum = 0;
    for (int seed = 0; seed < 6; ++seed) {
      sum += least_value(run_search(*make(models(), seed, Goal::min), loss, 40));
    }
    return sum / 6;
  };
  const double random = mean_best(maker_of<search::Random>());
  CHECK(mean_best(maker_of<search::Tpe>()) < random);
  CHECK(mean_best(maker_of<search::GaussianProcess>()) < random);
}

TEST_CASE("CmaEs takes no conditions") {
  CHECK_FALSE(make_sampler<search::CmaEs>({}, branin_space(), 1)->takes_conditions());
}

TEST_CASE("only samplers that say so take several objectives") {
  CHECK(make_sampler<search::Nsga2>({}, branin_space(), 1)->takes_several_objectives());
  CHECK(make_sampler<search::Random>({}, branin_space(), 1)->takes_several_objectives());
  CHECK(make_sampler<search::Sobol>({}, branin_space(), 1)->takes_several_objectives());
  CHECK_FALSE(make_sampler<search::Tpe>({}, branin_space(), 1)->takes_several_objectives());
  CHECK_FALSE(
      make_sampler<search::GaussianProcess>({}, branin_space(), 1)->takes_several_objectives());
}

}  // namespace conditions_test
