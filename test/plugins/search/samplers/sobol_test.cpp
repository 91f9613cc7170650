// SPDX-License-Identifier: Apache-2.0
#include "search/samplers/sobol.h"

#include <set>

#include <catch2/catch.hpp>

#include "plugins/search/study.h"

using namespace trivet;
using namespace trivet::test;
using search::SobolSequence;

TEST_CASE("a Sobol sequence is that of Joe and Kuo's table") {
  // The first ten points in three dimensions that their program prints for new-joe-kuo-6.21201.
  const std::vector<std::vector<double>> expected = {
      {0, 0, 0},
      {0.5, 0.5, 0.5},
      {0.75, 0.25, 0.25},
      {0.25, 0.75, 0.75},
      {0.375, 0.375, 0.625},
      {0.875, 0.875, 0.125},
      {0.625, 0.125, 0.875},
      {0.125, 0.625, 0.375},
      {0.1875, 0.3125, 0.9375},
      {0.6875, 0.8125, 0.4375},
  };
  const SobolSequence sequence(3, std::nullopt);
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(sequence.point(i) == expected[i]);
}

TEST_CASE("a shifted Sobol sequence still puts one point into each slice") {
  const SobolSequence sequence(5, RngKey(3));
  for (std::size_t dimension = 0; dimension < 5; ++dimension) {
    std::set<int> slices;
    for (std::uint64_t i = 0; i < 64; ++i) {
      slices.insert(static_cast<int>(sequence.point(i)[dimension] * 64));
    }
    CHECK(slices.size() == 64);
  }
}

TEST_CASE("an unscrambled Sobol search starts at the low ends, then the middle") {
  search::SobolConfig config;
  config.scramble = false;
  const auto sampler = make_sampler<search::Sobol>(config, branin_space(), 9);
  CHECK(sampler->ask(0, {}) == search::SearchPoint{{"x", -5.0}, {"y", 0.0}});
  CHECK(sampler->ask(1, {}) == search::SearchPoint{{"x", 2.5}, {"y", 7.5}});
}

TEST_CASE("more dimensions than Joe and Kuo have directions for are refused") {
  CHECK_NOTHROW(SobolSequence(3667, std::nullopt));
  CHECK_THROWS_WITH(SobolSequence(3668, std::nullopt),
                    Catch::Matchers::Contains("at most 3667 dimensions, not 3668") &&
                        Catch::Matchers::Contains("search/Random"));
}
