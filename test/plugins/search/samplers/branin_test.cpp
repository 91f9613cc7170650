// SPDX-License-Identifier: Apache-2.0
// The benefit of learning from trials: Branin's function (minimum 0.397887), 30 trials, 20 seeds.
#include <catch2/catch.hpp>

#include "sampler_promises.h"
#include "search/samplers/gaussian_process.h"
#include "search/samplers/random.h"
#include "search/samplers/tpe.h"

using namespace trivet;
using namespace trivet::test;

TEST_CASE("on Branin's function TPE and the Gaussian process beat random search", "[slow]") {
  const double random = median_best_on_branin(maker_of<search::Random>());
  CHECK(random > 1);
  CHECK(median_best_on_branin(maker_of<search::Tpe>()) < random);
  // It reaches the minimum.
  CHECK(median_best_on_branin(maker_of<search::GaussianProcess>()) < 0.41);
}
