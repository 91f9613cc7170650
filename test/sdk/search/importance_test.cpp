// SPDX-License-Identifier: Apache-2.0
// Importances, against variances that are known in closed form.
#include "trivet/search/importance.h"

#include <functional>
#include <limits>
#include <vector>

#include <catch2/catch.hpp>

#include "trivet/tensor/random.h"

using namespace trivet;
using search::DimensionConfig;
using search::SearchSpace;

namespace importance_test {
namespace {

using Unit = std::vector<double>;

SearchSpace space_of_three() {
  Map<DimensionConfig> config;
  config["x"].uniform = {0, 1};
  config["kind"].choice = std::vector<Value>{"a", "b", "c", "d"};
  config["y"].uniform = {0, 1};
  return SearchSpace(config);
}

std::vector<double> measured(const std::function<double(const Unit&)>& function, std::size_t n) {
  std::vector<Unit> units;
  std::vector<double> values;
  for (std::size_t i = 0; i < n; ++i) {
    Unit& unit = units.emplace_back();
    for (std::size_t d = 0; d < 3; ++d) {
      unit.push_back(static_cast<double>(threefry(7, 3 * i + d) >> 11) * 0x1p-53);
    }
    values.push_back(function(unit));
  }
  return search::importances(space_of_three(), units, values);
}

}  // namespace

TEST_CASE("importances of a sum are the shares of its terms in the variance") {
  // Variances 4/12 of 2x and 1/12 of y: shares 0.8 and 0.2.
  const auto shares = measured([](const Unit& u) { return 2 * u[0] + u[2]; }, 400);
  REQUIRE(shares.size() == 3);
  CHECK(shares[0] == Approx(0.8).margin(0.06));
  CHECK(shares[1] < 0.02);
  CHECK(shares[2] == Approx(0.2).margin(0.06));
}

TEST_CASE("a choice counts by its values, whose order means nothing") {
  // b and d give 1: variance 1/4 of the choice, 1/12 of x: shares 0.75 and 0.25.
  const auto shares = measured(
      [](const Unit& u) {
        const int choice = static_cast<int>(u[1] * 4);
        return (choice % 2) + u[0];
      },
      400);
  REQUIRE(shares.size() == 3);
  CHECK(shares[0] == Approx(0.25).margin(0.05));
  CHECK(shares[1] == Approx(0.75).margin(0.05));
}

TEST_CASE("an interaction counts for neither key") {
  const auto shares =
      measured([](const Unit& u) { return (u[0] < 0.5) == (u[2] < 0.5) ? 1.0 : 0.0; }, 600);
  REQUIRE(shares.size() == 3);
  CHECK(shares[0] < 0.15);
  CHECK(shares[2] < 0.15);
}

TEST_CASE("few or equal trials have no importances, far values keep their digits") {
  CHECK(measured([](const Unit& u) { return u[0]; }, 3).empty());
  CHECK(measured([](const Unit&) { return 4.25; }, 50).empty());
  const auto shares = measured([](const Unit& u) { return 1e9 + u[0]; }, 100);
  REQUIRE(shares.size() == 3);
  CHECK(shares[0] > 0.9);
}

TEST_CASE("the same trials have the same importances") {
  const auto function = [](const Unit& u) { return u[0] * u[2]; };
  CHECK(measured(function, 60) == measured(function, 60));
}

}  // namespace importance_test
