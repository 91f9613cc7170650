// SPDX-License-Identifier: Apache-2.0
// Mixing by learned matrices and by Hartley transforms, and stacks that attend at the top.
#include <cmath>
#include <cstdint>
#include <numbers>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "support/layer_fixture.h"
#include "support/plugins.h"
#include "trivet/error.h"
#include "trivet/testing/layer_check.h"

namespace linear_mixing_test {
namespace {

using namespace trivet::test;
using Catch::Contains;
using trivet::FpropContext;
using trivet::Shape;
using trivet::Tensor;
using trivet::Value;

constexpr std::size_t kDims = 4, kLongest = 6;

Value mixing() {
  return Value::table({{"type", "nn/LinearMixing"}, {"max_seq_length", kLongest}});
}

}  // namespace

TEST_CASE("linear mixing multiplies by a matrix on each side", "[nn]") {
  for (const std::string& backend : backends()) {
    const LayerFixture layer(
        backend,
        {"nn/LinearMixing", Value::table({{"input_dims", kDims}, {"max_seq_length", kLongest}})});
    const std::vector<float> p = layer.values("positions"), f = layer.values("features");
    REQUIRE(p.size() == kLongest * kLongest);
    REQUIRE(f.size() == kDims * kDims);
    for (const std::size_t length : {kLongest, std::size_t{3}}) {
      const auto count = static_cast<std::int64_t>(length);
      const std::vector<float> x = random_values(2 * count * static_cast<std::int64_t>(kDims), 3);
      std::vector<double> want;
      for (std::size_t row = 0; row < 2; ++row) {
        for (std::size_t i = 0; i < length; ++i) {
          for (std::size_t d = 0; d < kDims; ++d) {
            double sum = 0;
            for (std::size_t j = 0; j < length; ++j) {
              for (std::size_t e = 0; e < kDims; ++e) {
                sum += static_cast<double>(p[i * kLongest + j]) *
                       static_cast<double>(x[(row * length + j) * kDims + e]) *
                       static_cast<double>(f[e * kDims + d]);
              }
            }
            want.push_back(sum);
          }
        }
      }
      const Tensor in = layer.tensor(x, {2, count, kDims});
      CHECK(largest_error(layer.fprop(in).to_host<float>(), want) < 1e-5);
      CHECK(trivet::testing::check_layer_gradients(layer.layer(), layer.store(), in) == "");
    }
    CHECK_THROWS_WITH(layer.fprop(Tensor::zeros(layer.device(), {1, 7, 4})),
                      Contains("[B, T, 4] of at most 6 positions"));
    FpropContext packed;
    packed.segment_ids =
        Tensor::from<std::int32_t>(layer.device(), std::vector<std::int32_t>{1, 2}, {1, 2});
    CHECK_THROWS_WITH(layer.layer().fprop(Tensor::zeros(layer.device(), {1, 2, 4}), packed),
                      Contains("nn/LinearMixing 'layer' would mix the texts of a packed row"));
  }
}

TEST_CASE("Hartley mixing is the sum with cosines and sines over both axes", "[nn]") {
  // Hartley 1942: cas(a) = cos a + sin a; in two dimensions of the angle p k / T + d l / D.
  for (const std::string& backend : backends()) {
    const LayerFixture layer(
        backend, {"nn/FourierMixing", Value::table({{"input_dims", 6}, {"transform", "hartley"}})});
    const std::vector<float> x = random_values(5 * 6, 3);
    std::vector<double> want;
    for (int k = 0; k < 5; ++k) {
      for (int l = 0; l < 6; ++l) {
        double sum = 0;
        for (int p = 0; p < 5; ++p) {
          for (int d = 0; d < 6; ++d) {
            const double angle = 2 * std::numbers::pi * (p * k / 5.0 + d * l / 6.0);
            sum += static_cast<double>(x[static_cast<std::size_t>(p * 6 + d)]) *
                   (std::cos(angle) + std::sin(angle));
          }
        }
        want.push_back(sum);
      }
    }
    CHECK(largest_error(layer.fprop(layer.tensor(x, {1, 5, 6})).to_host<float>(), want) < 1e-5);
  }
}

TEST_CASE("a stack mixes below, attends at the top and has experts between", "[nn]") {
  const auto stack = [](Value more) {
    Value fields = Value::table(
        {{"num_layers", 4},
         {"transformer_layer_params_tpl", Value::table({{"type", "nn/TransformerBlock"},
                                                        {"input_dims", 4},
                                                        {"num_heads", 2},
                                                        {"attention_tpl", mixing()}})}});
    for (const Value::Member& member : more.members()) fields.set(member.key, member.value);
    return trivet::ConfigOf<trivet::Layer>("nn/StackedTransformer", fields);
  };
  const LayerFixture layer(
      "tiny/Backend",
      stack(Value::table({{"attention_layers", Value::array({2, 3})},
                          {"moe_layers", Value::array({1, 2})},
                          {"moe_layer_tpl", Value::table({{"type", "nn/MoeFeedForward"},
                                                          {"num_experts", 2},
                                                          {"gating_func", "expert_choice"}})}})));
  for (int i = 0; i < 4; ++i) {
    const std::string path = "layer/layer_" + std::to_string(i);
    CHECK((layer.store().find(path + "/attention/features") != nullptr) == (i < 2));
    CHECK((layer.store().find(path + "/attention/query/w") != nullptr) == (i >= 2));
    CHECK((layer.store().find(path + "/feed_forward/gate") != nullptr) == (i == 1 || i == 2));
  }
  CHECK(layer.fprop(layer.tensor(random_values(24, 4), {1, 6, 4})).shape() == Shape{1, 6, 4});
  CHECK_THROWS_WITH(
      LayerFixture("tiny/Backend", stack(Value::table({{"attention_layers", Value::array({4})}}))),
      Contains("attention_layers: has 4, but the last of the 4 blocks is 3"));
  CHECK_THROWS_WITH(
      LayerFixture("tiny/Backend", stack(Value::table({{"attention_layers", Value::array({0})},
                                                       {"attention_layer_tpl", "none"}}))),
      Contains("attention_layer_tpl"));
}

}  // namespace linear_mixing_test
