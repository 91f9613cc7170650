// SPDX-License-Identifier: Apache-2.0
// T5's relative biases: buckets, and their use in attention.
#include <cmath>

#include <catch2/catch.hpp>

#include "plugins/lm/transformer_reference.h"
#include "support/layer_fixture.h"
#include "support/plugins.h"
#include "trivet/error.h"
#include "trivet/layer/extend_step.h"
#include "trivet/ops.h"
#include "trivet/testing/layer_check.h"

namespace {

using Catch::Contains;
using trivet::FpropContext;
using trivet::Tensor;
using trivet::Value;
using trivet::test::Heads;
using trivet::test::largest_error;
using trivet::test::LayerFixture;
using trivet::test::random_values;
using trivet::test::Rows;
using trivet::test::sequences;

// The published function of Raffel et al. 2020: distance is key - query.
int bucket(int distance, bool bidirectional, int buckets, int max_distance) {
  int result = 0, n = -distance;
  if (bidirectional) {
    buckets /= 2;
    if (n < 0) result += buckets;
    n = std::abs(n);
  } else if (n < 0) {
    n = 0;
  }
  const int exact = buckets / 2;
  if (n < exact) return result + n;
  const int large =
      exact + static_cast<int>(std::log(double(n) / exact) /
                               std::log(double(max_distance) / exact) * (buckets - exact));
  return result + std::min(large, buckets - 1);
}

// A layer whose number for a bucket is the bucket, and for its second head ten times that.
class Counting : public LayerFixture {
 public:
  Counting(const std::string& backend, bool bidirectional, std::int64_t buckets)
      : LayerFixture(backend, {"nn/RelativeBias",
                               Value::table({{"num_heads", 2},
                                             {"bidirectional", bidirectional},
                                             {"relative_attention_num_buckets", buckets}})}) {
    std::vector<float> table;
    for (std::int64_t b = 0; b < buckets; ++b) {
      table.push_back(static_cast<float>(b));
      table.push_back(static_cast<float>(10 * b));
    }
    set("table", table);
  }
};

std::vector<float> biases(const LayerFixture& layer, const std::vector<std::int32_t>& distances) {
  const auto n = static_cast<std::int64_t>(distances.size());
  FpropContext context;
  return layer.layer()
      .fprop(Tensor::from<std::int32_t>(layer.device(), distances, {1, 1, n}), context)
      .to_host<float>();
}

}  // namespace

TEST_CASE("distances have the buckets of T5") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const bool bidirectional = GENERATE(false, true);
  const int buckets = GENERATE(32, 8);
  const Counting layer(backend, bidirectional, buckets);
  std::vector<std::int32_t> distances;
  std::vector<float> want;
  for (int head = 0; head < 2; ++head) {
    for (int distance = -300; distance <= 300; ++distance) {
      if (head == 0) distances.push_back(distance);
      const int b = bucket(distance, bidirectional, buckets, 128);
      want.push_back(static_cast<float>(head == 0 ? b : 10 * b));
    }
  }
  CHECK(biases(layer, distances) == want);
}

TEST_CASE("some buckets by hand") {
  const Counting causal("tiny/Backend", false, 32);
  // 16 + 16 ln(n / 16) / ln 8: 20 gives 17.7, 64 gives 26.7.
  CHECK(biases(causal, {5, 0, -1, -15, -16, -20, -64, -127, -128, -9999}) ==
        std::vector<float>{0, 0, 1,  15,  16,  17,  26,  31,  31,  31,
                           0, 0, 10, 150, 160, 170, 260, 310, 310, 310});
}

TEST_CASE("attention adds the bias of each head to its scores") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  constexpr std::size_t length = 5, dims = 8;
  const LayerFixture layer(
      backend,
      {"nn/MultiHeadAttention",
       Value::table({{"input_dims", dims},
                     {"num_heads", 2},
                     {"causal", true},
                     {"atten_logit_cap", 2.0},
                     {"relative_bias", Value::table({{"type", "nn/RelativeBias"},
                                                     {"relative_attention_num_buckets", 4},
                                                     {"relative_attention_max_distance", 4}})}})});
  const auto table = layer.values("relative_bias/table");
  const std::vector<float> x = random_values(2 * length * dims, 3);
  const auto check = [&](const FpropContext& given, const std::vector<int>& positions) {
    Heads heads{2, 2, [](std::size_t i, std::size_t j) { return j <= i; }};
    heads.scored = [&](double score, std::size_t head, std::size_t i, std::size_t j) {
      const int b = bucket(positions[j] - positions[i], false, 4, 4);
      score += static_cast<double>(table[static_cast<std::size_t>(b) * 2 + head]);
      return 2 * std::tanh(score / 2);
    };
    const auto weights = [&](const std::string& path) { return layer.values(path); };
    std::vector<Rows> want;
    for (const Rows& rows : sequences(x, length, dims)) {
      want.push_back(trivet::test::attention(rows, weights, heads));
    }
    FpropContext context = given;
    const Tensor y = layer.layer().fprop(layer.tensor(x, {2, length, dims}), context);
    CHECK(largest_error(y.to_host<float>(), trivet::test::flattened(want)) < 2e-5);
    const auto cache = trivet::make_cache(layer.layer(), "layer", 2, length);
    std::vector<Tensor> parts;
    for (std::int64_t t = 0; t < 5; ++t) {
      const auto part = [&](const Tensor& all) {
        return all.defined() ? trivet::ops::slice(all, 1, t, t + 1) : Tensor();
      };
      FpropContext step;
      step.positions = part(given.positions);
      parts.push_back(trivet::extend_step(layer.layer(), part(layer.tensor(x, {2, length, dims})),
                                          cache.get(), step));
    }
    CHECK(largest_error(trivet::ops::concat(parts, 1).to_host<float>(),
                        trivet::test::flattened(want)) < 2e-5);
  };
  check({}, {0, 1, 2, 3, 4});
  FpropContext placed;
  const std::vector<std::int32_t> positions{0, 2, 3, 3, 9, 0, 2, 3, 3, 9};
  placed.positions = Tensor::from<std::int32_t>(layer.device(), positions, {2, 5});
  check(placed, {0, 2, 3, 3, 9});
  trivet::testing::LayerCheckOptions options;
  const Tensor small = layer.tensor(random_values(2 * 3 * dims, 4), {2, 3, dims});
  CHECK(trivet::testing::check_layer_gradients(layer.layer(), layer.store(), small, options) == "");
}

TEST_CASE("blocks may share one relative bias") {
  const Value attention = Value::table(
      {{"type", "nn/MultiHeadAttention"},
       {"relative_bias", Value::table({{"type", "nn/RelativeBias"}, {"shared", "bias"}})}});
  const LayerFixture layer(
      "tiny/Backend",
      {"nn/Repeat", Value::table({{"x_times", 2},
                                  {"sub", Value::table({{"type", "nn/TransformerBlock"},
                                                        {"input_dims", 8},
                                                        {"num_heads", 2},
                                                        {"attention_tpl", attention}})}})});
  int tables = 0;
  for (const auto& parameter : layer.store().parameters()) {
    tables += parameter->path().ends_with("relative_bias/table") ? 1 : 0;
  }
  CHECK(tables == 1);
}

TEST_CASE("RelativeBias reports mismatched inputs") {
  const auto make = [](std::initializer_list<std::pair<std::string_view, Value>> fields) {
    return LayerFixture("tiny/Backend", {"nn/RelativeBias", Value::table(fields)});
  };
  CHECK_THROWS_WITH(make({}), Contains("'layer': num_heads is not set"));
  CHECK_THROWS_WITH(make({{"num_heads", 2}, {"relative_attention_max_distance", 16}}),
                    Contains("must be more than the 16 distances"));
  CHECK_THROWS_WITH(
      make({{"num_heads", 2}, {"relative_attention_num_buckets", 2}, {"bidirectional", true}}),
      Contains("at least 4"));
  CHECK_THROWS_WITH(
      make({{"num_heads", 2}, {"relative_attention_num_buckets", 5}, {"bidirectional", true}}),
      Contains("must be even"));
  const LayerFixture layer = make({{"num_heads", 2}});
  CHECK_THROWS_WITH(layer.fprop(Tensor::zeros(layer.device(), {1, 2, 2})),
                    Contains("'layer': expected distances i32 [B, Tq, Tkv]"));
}
