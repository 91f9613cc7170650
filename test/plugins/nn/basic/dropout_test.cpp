// SPDX-License-Identifier: Apache-2.0
// Dropout of elements together along axes, and in evaluations.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "support/layer_fixture.h"
#include "support/plugins.h"
#include "trivet/error.h"
#include "trivet/testing/layer_check.h"

namespace nn_dropout_test {
namespace {

using trivet::FpropContext;
using trivet::Tensor;
using trivet::Value;
using trivet::test::LayerFixture;

LayerFixture made(const std::string& backend, Value fields) {
  fields.set("rate", 0.5);
  return {backend, {"nn/Dropout", std::move(fields)}};
}

std::vector<float> of_ones(const LayerFixture& fixture, const trivet::Shape& shape, bool train) {
  FpropContext context;
  context.train = train;
  context.key = trivet::RngKey(3);
  return fixture.layer().fprop(Tensor::full(fixture.device(), shape, 1), context).to_host<float>();
}

}  // namespace

TEST_CASE("elements along the axes of noise_broadcast_dims are dropped together") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  constexpr std::size_t kRows = 4, kPositions = 5, kFeatures = 16;
  const LayerFixture fixture =
      made(backend, Value::table({{"noise_broadcast_dims", Value::array({-2})}}));
  const std::vector<float> y = of_ones(fixture, {kRows, kPositions, kFeatures}, true);
  std::set<std::vector<float>> patterns;
  for (std::size_t row = 0; row < kRows; ++row) {
    const auto begin = y.begin() + static_cast<std::ptrdiff_t>(row * kPositions * kFeatures);
    const std::vector<float> first(begin, begin + kFeatures);
    for (std::size_t position = 0; position < kPositions; ++position) {
      CHECK(std::equal(first.begin(), first.end(),
                       begin + static_cast<std::ptrdiff_t>(position * kFeatures)));
    }
    for (const float value : first) CHECK((value == 0 || value == 2));
    patterns.insert(first);
  }
  CHECK(patterns.size() == kRows);  // rows are dropped by themselves
  trivet::testing::LayerCheckOptions options;
  options.train = true;
  CHECK(trivet::testing::check_layer_gradients(
            fixture.layer(), fixture.store(),
            fixture.tensor(trivet::test::random_values(24, 2), {2, 3, 4}), options) == "");
}

TEST_CASE("dropout_at_eval drops in evaluations, too") {
  const std::vector<float> ones(64, 1);
  CHECK(of_ones(made("tiny/Backend", Value::table()), {64}, false) == ones);
  const LayerFixture fixture = made("tiny/Backend", Value::table({{"dropout_at_eval", true}}));
  const std::vector<float> y = of_ones(fixture, {64}, false);
  CHECK(std::ranges::count(y, 0.0F) > 15);
  CHECK(y == of_ones(fixture, {64}, true));
}

TEST_CASE("an axis that the input does not have is an error") {
  const LayerFixture fixture =
      made("tiny/Backend", Value::table({{"noise_broadcast_dims", Value::array({2})}}));
  CHECK_THROWS_WITH(of_ones(fixture, {2, 3}, true),
                    Catch::Contains("'layer'") && Catch::Contains("noise_broadcast_dims"));
}

}  // namespace nn_dropout_test
