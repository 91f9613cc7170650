// SPDX-License-Identifier: Apache-2.0
// What learning is worth: Branin's function (least value 0.397887), 30 trials, 20 seeds.
#include <algorithm>
#include <catch2/catch.hpp>

#include "search/gaussian_process.h"
#include "search/random.h"
#include "search/tpe.h"
#include "search_study.h"

using namespace trivet;
using namespace trivet::test;

namespace {

template <class S>
double median_best() {
  std::vector<double> best;
  for (std::int64_t seed = 0; seed < 20; ++seed) {
    best.push_back(least_value(run_search(*make_sampler<S>({}, branin_space(), seed), branin, 30)));
  }
  std::sort(best.begin(), best.end());
  return (best[9] + best[10]) / 2;
}

}  // namespace

TEST_CASE("on Branin's function TPE and the Gaussian process beat random search") {
  const double random = median_best<search::Random>();
  CHECK(random > 1);
  CHECK(median_best<search::Tpe>() < random);
  // It does not only win: it is at the bottom.
  CHECK(median_best<search::GaussianProcess>() < 0.41);
}
