// SPDX-License-Identifier: Apache-2.0
// The configs of samplers and stoppers, through the round-trip check that plugin authors use.
#include <catch2/catch.hpp>

#include "plugins/config_round_trip.h"
#include "search/samplers/cma_es.h"
#include "search/samplers/gaussian_process.h"
#include "search/samplers/nsga2.h"
#include "search/samplers/random.h"
#include "search/samplers/regularized_evolution.h"
#include "search/samplers/sobol.h"
#include "search/samplers/tpe.h"
#include "search/stoppers/asha.h"
#include "search/stoppers/by_rank.h"
#include "search/stoppers/by_value.h"
#include "search/stoppers/median.h"

namespace search = trivet::search;
using trivet::test::check_round_trip;

TEST_CASE("the configs of samplers and stoppers survive the way to a file and back") {
  check_round_trip(search::RandomConfig{});
  check_round_trip(search::SobolConfig{});
  check_round_trip(search::TpeConfig{});
  check_round_trip(search::CmaEsConfig{});
  check_round_trip(search::GaussianProcessConfig{});
  check_round_trip(search::Nsga2Config{});
  check_round_trip(search::RegularizedEvolutionConfig{});
  check_round_trip(search::MedianConfig{});
  search::ByValueConfig by_value;
  by_value.step_values = {{.step = 10, .value = 0.5}};
  check_round_trip(by_value);
  search::ByRankConfig by_rank;
  by_rank.step_ranks = {{.step = 10, .rank = 3}, {.step = 20, .fraction = 0.5}};
  check_round_trip(by_rank);
  search::AshaConfig asha;
  asha.min_steps = 100;
  check_round_trip(asha);
}
