// SPDX-License-Identifier: Apache-2.0
// Fronts and crowding distances, against numbers computed by hand.
#include "trivet/search/pareto.h"

#include <cmath>
#include <vector>

#include <catch2/catch.hpp>

#include "trivet/search/trial.h"

using namespace trivet;
using Rows = std::vector<std::vector<double>>;

TEST_CASE("one row dominates another that is worse in some and better in no objective") {
  CHECK(search::dominates(std::vector{1.0, 2.0}, std::vector{1.0, 3.0}));
  CHECK_FALSE(search::dominates(std::vector{1.0, 2.0}, std::vector{1.0, 2.0}));
  CHECK_FALSE(search::dominates(std::vector{1.0, 3.0}, std::vector{2.0, 2.0}));
}

TEST_CASE("fronts hold what only earlier fronts dominate") {
  const Rows rows = {{1, 5}, {2, 2}, {5, 1}, {3, 3}, {2, 2}, {6, 6}, {4, 2}};
  const auto fronts = search::pareto_fronts(rows, rows.size());
  CHECK(fronts == std::vector<std::vector<std::size_t>>{{0, 1, 2, 4}, {3, 6}, {5}});
  CHECK(search::pareto_fronts(rows, 4).size() == 1);
  CHECK(search::pareto_fronts(rows, 5).size() == 2);
  CHECK(search::pareto_fronts({}, 3).empty());
}

TEST_CASE("the crowding distance is the sum of the neighbors' gaps in parts of the ranges") {
  const Rows rows = {{0, 10}, {1, 6}, {4, 4}, {10, 0}};
  const std::vector<std::size_t> front = {0, 1, 2, 3};
  const std::vector<double> distances = search::crowding_distances(rows, front);
  CHECK(std::isinf(distances[0]));
  CHECK(distances[1] == Approx(0.4 + 0.6));
  CHECK(distances[2] == Approx(0.9 + 0.6));
  CHECK(std::isinf(distances[3]));
  CHECK(search::crowding_distances(rows, {}).empty());
}

TEST_CASE("a trial has losses only if it has all objectives") {
  search::Trial trial{.state = search::TrialState::complete, .value = 0.5};
  const std::vector goals = {Goal::max, Goal::min};
  CHECK(search::final_losses(trial, std::vector{Goal::max}) == std::vector{-0.5});
  CHECK_FALSE(search::final_losses(trial, goals));
  trial.values = {0.5, 3};
  CHECK(search::final_losses(trial, goals) == std::vector{-0.5, 3.0});
  trial.values = {0.5, std::nan("")};
  CHECK_FALSE(search::final_losses(trial, goals));
  trial.values = {0.5, 3};
  trial.state = search::TrialState::failed;
  CHECK_FALSE(search::final_losses(trial, goals));
}
