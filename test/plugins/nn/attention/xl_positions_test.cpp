// SPDX-License-Identifier: Apache-2.0
// The relative positions of Transformer-XL against Praxis' formula in double.
#include <cmath>

#include <catch2/catch.hpp>

#include "plugins/nn/attention/attention_fixture.h"
#include "support/plugins.h"

namespace nn_xl_positions_test {
namespace {

using trivet::Value;
using trivet::test::affine;
using trivet::test::AttentionFixture;
using trivet::test::Heads;
using trivet::test::Row;
using trivet::test::Rows;

constexpr std::size_t kHeads = AttentionFixture::kHeads, kDepth = AttentionFixture::kDepth;

// Praxis' PositionalEmbedding of a distance.
Row sines(double distance, std::size_t dims) {
  const std::size_t n = dims / 2;
  Row y(dims, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    const double step = std::log(10000.0) / std::max(static_cast<double>(n) - 1, 1.0);
    const double angle = distance * std::exp(-static_cast<double>(i) * step);
    y[i] = std::sin(angle);
    y[n + i] = std::cos(angle);
  }
  return y;
}

// Dai et al. 2019, section 3.3, terms a to d, with u and v added to the scaled query.
Rows wanted(const AttentionFixture& layer, const Rows& x, std::size_t dims, std::size_t kv_heads,
            const Heads& given) {
  const auto product = [&](const std::string& name) {
    return affine(x, layer.values(name + "/w"), layer.values(name + "/b"));
  };
  const Rows q = product("query"), k = product("key"), v = product("value");
  const std::vector<float> by_key = layer.values("u"), by_distance = layer.values("v");
  const double root = std::sqrt(static_cast<double>(kDepth));
  Heads heads = given;
  heads.scored = [&](double, std::size_t head, std::size_t i, std::size_t j) {
    const double distance = static_cast<double>(i) - static_cast<double>(j);
    const Row r = affine(sines(distance, dims), layer.values("pos_proj/w"), {});
    const std::size_t at = head * kDepth, from = head / (kHeads / kv_heads) * kDepth;
    double score = 0;
    for (std::size_t d = 0; d < kDepth; ++d) {
      const double asked = q[i][at + d] / root;
      score += (asked + static_cast<double>(by_key[at + d])) * k[j][from + d];
      score += (asked + static_cast<double>(by_distance[at + d])) * r[at + d];
    }
    return given.scored(score, head, i, j);
  };
  return affine(trivet::test::mixed_values(q, k, v, heads), layer.values("output/w"),
                layer.values("output/b"));
}

}  // namespace

TEST_CASE("relative positions add their scores to those of the keys") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const std::size_t dims = GENERATE(1, 2, 5, 8), kv_heads = GENERATE(1, 2);
  const bool causal = GENERATE(false, true);
  INFO(backend << " " << dims << " " << kv_heads << " " << causal);
  const AttentionFixture layer(
      backend, {{"rel_pos_emb_dim", dims}, {"num_kv_heads", kv_heads}, {"causal", causal}});
  const Heads heads{kHeads, kv_heads,
                    [&](std::size_t i, std::size_t j) { return !causal || j <= i; }};
  layer.check([&](const Rows& x) { return wanted(layer, x, dims, kv_heads, heads); });
}

TEST_CASE("relative positions are inside the cap, beside another bias") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const AttentionFixture layer(
      backend,
      {{"rel_pos_emb_dim", 4}, {"relative_bias", "nn/AlibiBias"}, {"atten_logit_cap", 2.0}});
  Heads heads{kHeads, kHeads};
  heads.scored = [](double score, std::size_t head, std::size_t i, std::size_t j) {
    const double slope = head == 0 ? 1.0 / 16 : 1.0 / 256;  // of two heads
    score -= slope * std::abs(static_cast<double>(i) - static_cast<double>(j));
    return 2 * std::tanh(score / 2);
  };
  layer.check([&](const Rows& x) { return wanted(layer, x, 4, kHeads, heads); });
}

TEST_CASE("one position has one distance") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const AttentionFixture layer(backend, {{"rel_pos_emb_dim", 4}});
  const std::vector<float> numbers = trivet::test::random_values(8, 3);
  const Rows x = trivet::test::sequences(numbers, 1, 8)[0];
  const auto y = layer.fprop(layer.tensor(numbers, {1, 1, 8})).to_host<float>();
  const Rows want = wanted(layer, x, 4, kHeads, {kHeads, kHeads});
  CHECK(trivet::test::largest_error(y, want[0]) < AttentionFixture::kTolerance);
}

TEST_CASE("u and v start at 0, and gradients of relative positions match differences") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const trivet::test::LayerFixture fresh(
      backend, {"nn/MultiHeadAttention", AttentionFixture::fields({{"rel_pos_emb_dim", 4}})});
  CHECK(fresh.parameter("u").shape() == trivet::Shape{2, 4});
  CHECK(fresh.values("u") == std::vector<float>(8, 0));
  CHECK(fresh.values("v") == std::vector<float>(8, 0));
  CHECK(fresh.parameter("pos_proj/w").shape() == trivet::Shape{4, 8});
  AttentionFixture(backend, {{"rel_pos_emb_dim", 4}}).check_gradients();
  AttentionFixture(backend, {{"rel_pos_emb_dim", 5}, {"causal", true}, {"per_dim_scale", true}})
      .check_gradients();
}

}  // namespace nn_xl_positions_test
