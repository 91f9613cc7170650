// SPDX-License-Identifier: Apache-2.0
#include "trivet/tensor/canonical_sum.h"

#include <algorithm>
#include <cmath>

#include <catch2/catch.hpp>

#include "support/plugins.h"
#include "trivet/error.h"

namespace canonical_sum_test {
namespace {

using trivet::CanonicalSum;
using trivet::SumTree;

// The element-by-element sum in the same order.
std::vector<float> expected(const SumTree& tree, const std::vector<std::vector<float>>& values) {
  std::vector<float> sums;
  for (std::size_t i = 0; i < values.front().size(); ++i) {
    trivet::TreeFold<float> fold(tree);
    std::optional<float> total;
    for (const auto& value : values) {
      total = fold.add(value[i], [](float& sum, float part) { sum += part; });
    }
    sums.push_back(total.value());
  }
  return sums;
}

}  // namespace

TEST_CASE("tensors are added in the order of the tree, sum after sum") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const auto device = trivet::test::open_device(backend);
  const SumTree tree(std::vector<std::int64_t>{2, 6});
  CanonicalSum sum(*device, {1000}, tree);
  for (int round = 0; round < 3; ++round) {
    std::vector<std::vector<float>> values;
    sum.restart();
    for (int part = 0; part < 12; ++part) {
      std::vector<float> value;
      for (int i = 0; i < 1000; ++i) {
        value.push_back(std::exp(std::sin(static_cast<float>(i * 37 + part * 11 + round)) * 9.0F));
      }
      sum.next().assign_bytes(std::as_bytes(std::span(value)));
      sum.add();
      values.push_back(std::move(value));
    }
    CHECK(sum.total().to_host<float>() == expected(tree, values));
  }
}

TEST_CASE("a sum that lacks values, or has had all, says so") {
  const auto device = trivet::test::open_device(trivet::test::backends().back());
  CanonicalSum sum(*device, {2}, SumTree(std::vector<std::int64_t>{2}));
  CHECK_THROWS_AS(sum.total(), trivet::Error);
  CHECK_THROWS_AS(sum.add(), trivet::Error);
  for (int i = 0; i < 2; ++i) {
    std::ranges::fill(sum.next().mutable_span<float>(), 1.5F);
    sum.add();
  }
  CHECK(sum.total().to_host<float>() == std::vector<float>{3, 3});
  CHECK_THROWS_WITH(sum.next(), "this sum has had its 2 values");
  sum.restart();
  CHECK_THROWS_AS(sum.total(), trivet::Error);
}

}  // namespace canonical_sum_test
