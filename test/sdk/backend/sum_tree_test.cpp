// SPDX-License-Identifier: Apache-2.0
// The order of sums over a mesh, against its definition.
#include "trivet/backend/sum_tree.h"

#include <numeric>
#include <random>

#include <catch2/catch.hpp>

#include "trivet/error.h"

namespace sum_tree_test {
namespace {

using trivet::SumTree;
using Values = std::vector<double>;

// By halves; the size is a power of two.
double halves(std::span<const double> x) {
  if (x.size() == 1) return x[0];
  return halves(x.first(x.size() / 2)) + halves(x.last(x.size() / 2));
}

double along_axis(std::span<const double> x) {
  std::size_t group = 1;
  while (x.size() % (2 * group) == 0) group *= 2;
  double sum = halves(x.first(group));
  for (std::size_t i = group; i < x.size(); i += group) sum += halves(x.subspan(i, group));
  return sum;
}

// Axis by axis, the innermost first.
double by_definition(const std::vector<std::int64_t>& extents, Values x) {
  for (auto extent = extents.rbegin(); extent != extents.rend(); ++extent) {
    const auto n = static_cast<std::size_t>(*extent);
    Values sums;
    for (std::size_t i = 0; i < x.size(); i += n) {
      sums.push_back(along_axis(std::span(x).subspan(i, n)));
    }
    x = std::move(sums);
  }
  return x.at(0);
}

}  // namespace

TEST_CASE("values are added by halves, and groups of an odd number from left to right") {
  // In double 1e17 + 1 is 1e17, so each order has its own sum.
  const Values x = {1e17, 1, -1e17, 1, 3, 5};
  CHECK(canonical_sum(SumTree(std::vector<std::int64_t>{4}), std::span(x).first(4)) == 0);
  // (x0 + x1) + (x2 + x3) + (x4 + x5), pairs from left to right.
  CHECK(canonical_sum(SumTree(std::vector<std::int64_t>{6}), x) == 8);
  // ((x0 + x1) + x2), ((x3 + x4) + x5), then the two.
  CHECK(canonical_sum(SumTree(std::vector<std::int64_t>{2, 3}), x) == 9);
  CHECK(canonical_sum(SumTree(), std::span(x).first(1)) == 1e17);
}

TEST_CASE("random sums have the bits of the definition") {
  std::mt19937 random(5);  // NOLINT: the same cases in every run
  for (int round = 0; round < 200; ++round) {
    std::vector<std::int64_t> extents(1 + random() % 4);
    for (std::int64_t& extent : extents) extent = 1 + static_cast<std::int64_t>(random() % 12);
    const SumTree tree{extents};
    const auto count = std::accumulate(extents.begin(), extents.end(), std::int64_t{1},
                                       std::multiplies<std::int64_t>());
    REQUIRE(tree.size() == count);
    Values x;
    std::normal_distribution<double> normal;
    for (std::int64_t i = 0; i < count; ++i) x.push_back(std::exp(8 * normal(random)) - 1);
    REQUIRE(canonical_sum(tree, x) == by_definition(extents, x));
  }
}

TEST_CASE("a sum of another number of values is refused") {
  const SumTree tree(std::vector<std::int64_t>{3});
  CHECK_THROWS_WITH(canonical_sum(tree, Values{1, 2}), "a sum of 3 values got 2");
  CHECK_THROWS_WITH(canonical_sum(tree, Values{}), "a sum of 3 values got 0");
  CHECK_THROWS_AS(SumTree(std::vector<std::int64_t>{4, 0}), trivet::Error);
}

}  // namespace sum_tree_test
