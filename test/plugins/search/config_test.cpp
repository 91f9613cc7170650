// SPDX-License-Identifier: Apache-2.0
// The configs of samplers and stoppers, through the round-trip check that plugin authors use.
#include <catch2/catch.hpp>

#include "plugins/config_round_trip.h"
#include "search/samplers/cma_es.h"
#include "search/samplers/gaussian_process.h"
#include "search/samplers/nsga2.h"
#include "search/samplers/random.h"
#include "search/samplers/sobol.h"
#include "search/samplers/tpe.h"
#include "search/stoppers/asha.h"
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
  check_round_trip(search::MedianConfig{});
  search::AshaConfig asha;
  asha.min_steps = 100;
  check_round_trip(asha);
}
