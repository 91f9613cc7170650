// SPDX-License-Identifier: Apache-2.0
// Linear biases: slopes as published, and their use in attention.
#include <cmath>

#include <catch2/catch.hpp>

#include "plugins/nn/attention/attention_fixture.h"
#include "support/plugins.h"
#include "trivet/error.h"

namespace nn_alibi_bias_test {
namespace {

using Catch::Contains;
using trivet::FpropContext;
using trivet::Tensor;
using trivet::Value;
using trivet::test::AttentionFixture;
using trivet::test::Heads;
using trivet::test::LayerFixture;

constexpr std::size_t kHeads = AttentionFixture::kHeads;

std::vector<float> biases(const LayerFixture& layer, const std::vector<std::int32_t>& distances) {
  const auto n = static_cast<std::int64_t>(distances.size());
  FpropContext context;
  return layer.layer()
      .fprop(Tensor::from<std::int32_t>(layer.device(), distances, {1, 1, n}), context)
      .to_host<float>();
}

LayerFixture made(const std::string& backend, std::int64_t heads) {
  return {backend, {"nn/AlibiBias", Value::table({{"num_heads", heads}})}};
}

}  // namespace

TEST_CASE("slopes of linear biases are those of the paper") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  // "For n heads, our set of slopes is the geometric sequence that starts at 2^(-8/n) and uses that
  // same value as its ratio": 1/2, 1/4, .. 1/256 for 8 heads (Press et al. 2022, section 3).
  const LayerFixture eight = made(backend, 8);
  std::vector<float> want;
  for (int head = 1; head <= 8; ++head) {
    const float slope = std::exp2(-static_cast<float>(head));
    want.insert(want.end(), {-3 * slope, -slope, 0, -2 * slope});
  }
  CHECK(biases(eight, {-3, -1, 0, 2}) == want);
  CHECK(biases(made(backend, 1), {-1}) == std::vector<float>{-1.0F / 256});
  // Six heads: those of four, then the first and the third of eight (the authors' get_slopes).
  const std::vector<float> six = biases(made(backend, 6), {-1});
  const std::vector<float> slopes{0.25F, 0.0625F, 0.015625F, 0.00390625F, 0.5F, 0.125F};
  REQUIRE(six.size() == 6);
  for (std::size_t h = 0; h < 6; ++h) CHECK(six[h] == Approx(-slopes[h]));
  CHECK(made(backend, 6).store().parameters().empty());
}

TEST_CASE("attention subtracts the distance times the slope of the head") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const bool causal = GENERATE(true, false);
  const AttentionFixture layer(backend, {{"causal", causal}, {"relative_bias", "nn/AlibiBias"}});
  std::vector<double> positions{0, 1, 2, 3, 4};
  Heads heads{kHeads, kHeads, [&](std::size_t i, std::size_t j) { return !causal || j <= i; }};
  heads.scored = [&](double score, std::size_t head, std::size_t i, std::size_t j) {
    const double slope = head == 0 ? 1.0 / 16 : 1.0 / 256;
    return score - slope * std::abs(positions[i] - positions[j]);
  };
  layer.check(heads);
  FpropContext placed;
  placed.positions = layer.ids({0, 7, 30, 31, 90});
  positions = {0, 7, 30, 31, 90};
  layer.check(heads, placed);
  layer.check_gradients();
}

TEST_CASE("AlibiBias reports mismatched inputs") {
  CHECK_THROWS_WITH(made("tiny/Backend", 0), Contains("'layer': num_heads is not set"));
  const LayerFixture layer = made("tiny/Backend", 2);
  CHECK_THROWS_WITH(layer.fprop(Tensor::zeros(layer.device(), {1, 2, 2})),
                    Contains("'layer': expected distances i32 [B, Tq, Tkv]"));
}

}  // namespace nn_alibi_bias_test
