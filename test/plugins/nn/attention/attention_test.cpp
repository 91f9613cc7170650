// SPDX-License-Identifier: Apache-2.0
// MultiHeadAttention and TransformerBlock against their formulas in double.
#include <map>

#include <catch2/catch.hpp>

#include "plugins/lm/transformer_reference.h"
#include "support/layer_fixture.h"
#include "support/plugins.h"
#include "trivet/error.h"
#include "trivet/testing/layer_check.h"

namespace nn_attention_test {
namespace {

using Catch::Contains;
using trivet::ConfigError;
using trivet::FpropContext;
using trivet::Tensor;
using trivet::Value;
using trivet::test::flattened;
using trivet::test::Heads;
using trivet::test::largest_error;
using trivet::test::LayerFixture;
using trivet::test::random_values;
using trivet::test::Rows;
using trivet::test::sequences;

// Sums of at most a hundred products in f32, an exponential and a root.
constexpr double kTolerance = 2e-5;
constexpr std::size_t kLength = 5, kDims = 8;

Value fields(std::initializer_list<std::pair<std::string_view, Value>> more) {
  Value all = Value::table({{"input_dims", static_cast<std::int64_t>(kDims)}, {"num_heads", 4}});
  for (const auto& [name, value] : more) all.set(name, value);
  return all;
}

// A MultiHeadAttention with nonzero biases (they start at 0).
class Attention : public LayerFixture {
 public:
  Attention(const std::string& backend, const Value& config)
      : LayerFixture(backend, {"nn/MultiHeadAttention", config}) {
    std::uint64_t seed = 30;
    for (const auto& parameter : store().parameters()) {
      if (!parameter->path().ends_with("/b")) continue;
      const std::string below = parameter->path().substr(std::string("layer/").size());
      set(below, random_values(parameter->shape().size(), ++seed));
    }
  }
};

trivet::test::Weights weights_of(const LayerFixture& fixture) {
  return [&fixture](const std::string& path) {
    const bool there = fixture.store().find("layer/" + path) != nullptr;
    return there ? fixture.values(path) : std::vector<float>();
  };
}

// Checks the output of `fixture` for two sequences against the formulas.
void check_values(const LayerFixture& fixture, const Heads& heads, FpropContext context = {}) {
  const std::vector<float> x = random_values(2 * kLength * kDims, 3);
  const Tensor y = fixture.layer().fprop(
      fixture.tensor(x, {2, static_cast<std::int64_t>(kLength), static_cast<std::int64_t>(kDims)}),
      context);
  std::vector<Rows> want;
  for (const Rows& rows : sequences(x, kLength, kDims)) {
    want.push_back(trivet::test::attention(rows, weights_of(fixture), heads));
  }
  CHECK(y.shape() == trivet::Shape{2, 5, 8});
  CHECK(largest_error(y.to_host<float>(), flattened(want)) < kTolerance);
}

Tensor ids(const LayerFixture& fixture, const std::vector<std::int32_t>& values) {
  return Tensor::from(fixture.device(), std::span<const std::int32_t>(values), {2, 5});
}

}  // namespace

TEST_CASE("MultiHeadAttention mixes the positions of a sequence, head by head") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  check_values(Attention(backend, fields({})), {4, 4});
  check_values(Attention(backend, fields({{"has_bias", false}})), {4, 4});
  check_values(Attention(backend, fields({{"dims_per_head", 3}})), {4, 4});
  check_values(Attention(backend, fields({{"num_kv_heads", 2}})), {4, 2});
  check_values(Attention(backend, fields({{"causal", true}})),
               {4, 4, [](std::size_t i, std::size_t j) { return j <= i; }});
}

TEST_CASE("the parameters of a MultiHeadAttention are those of its four products") {
  const Attention fixture("tiny/Backend", fields({{"num_kv_heads", 1}, {"dims_per_head", 3}}));
  std::map<std::string, std::string> shapes;
  for (const auto& parameter : fixture.store().parameters()) {
    shapes[parameter->path()] = parameter->shape().to_string();
  }
  CHECK(shapes == std::map<std::string, std::string>{{"layer/query/w", "[8, 12]"},
                                                     {"layer/query/b", "[12]"},
                                                     {"layer/key/w", "[8, 3]"},
                                                     {"layer/key/b", "[3]"},
                                                     {"layer/value/w", "[8, 3]"},
                                                     {"layer/value/b", "[3]"},
                                                     {"layer/output/w", "[12, 8]"},
                                                     {"layer/output/b", "[8]"}});
}

TEST_CASE("positions of other segments, and padding, are not seen") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const Attention fixture(backend, fields({}));
  const std::vector<int> segment{7, 7, 7, 9, 9}, padded{0, 0, 1, 0, 1};
  FpropContext context;
  context.segment_ids = ids(fixture, {7, 7, 7, 9, 9, 7, 7, 7, 9, 9});
  check_values(fixture, {4, 4, [&](auto i, auto j) { return segment[i] == segment[j]; }}, context);
  context.paddings = fixture.tensor({0, 0, 1, 0, 1, 0, 0, 1, 0, 1}, {2, 5});
  check_values(fixture,
               {4, 4,
                [&](auto i, auto j) {
                  return padded[i] == padded[j] && (padded[i] == 1 || segment[i] == segment[j]);
                }},
               context);
  context.segment_ids = {};
  check_values(fixture, {4, 4, [&](auto i, auto j) { return padded[i] == padded[j]; }}, context);
}

TEST_CASE("a TransformerBlock adds attention and an Mlp, each after its norm") {
  LayerFixture fixture(GENERATE(from_range(trivet::test::backends())),
                       {"nn/TransformerBlock", fields({{"hidden_dims", 6}, {"num_heads", 2}})});
  const std::vector<float> x = random_values(2 * kLength * kDims, 3);
  std::vector<Rows> want;
  for (const Rows& rows : sequences(x, kLength, kDims)) {
    want.push_back(trivet::test::transformer_block(rows, weights_of(fixture), {2, 2}));
  }
  const Tensor y = fixture.fprop(fixture.tensor(x, {2, 5, 8}));
  CHECK(largest_error(y.to_host<float>(), flattened(want)) < kTolerance);
}

TEST_CASE("a TransformerBlock's Mlp is four times as wide by default") {
  LayerFixture fixture("tiny/Backend", {"nn/TransformerBlock", fields({})});
  CHECK(fixture.parameter("mlp_in/w").shape() == trivet::Shape{8, 32});
  CHECK(fixture.parameter("mlp_out/w").shape() == trivet::Shape{32, 8});
}

TEST_CASE("a TransformerBlock drops out in training only") {
  LayerFixture plain("tiny/Backend", {"nn/TransformerBlock", fields({})});
  LayerFixture dropping("tiny/Backend", {"nn/TransformerBlock", fields({{"dropout", 0.5}})});
  const Tensor x = plain.tensor(random_values(40, 3), {1, 5, 8});
  const Tensor own = dropping.tensor(random_values(40, 3), {1, 5, 8});
  const auto want = plain.fprop(x).to_host<float>();
  CHECK(plain.fprop(x, true).to_host<float>() == want);
  CHECK(dropping.fprop(own).to_host<float>() == want);
  CHECK(dropping.fprop(own, true).to_host<float>() != want);
}

TEST_CASE("with residual_droppath_prob examples skip attention, Mlp or both in training") {
  const auto block = [](double prob) {
    return LayerFixture("tiny/Backend",
                        {"nn/TransformerBlock", fields({{"residual_droppath_prob", prob}})});
  };
  LayerFixture plain = block(0), skipping = block(0.5);
  CHECK(plain.store().parameters().size() == skipping.store().parameters().size());
  const std::vector<float> values = random_values(256 * 8, 3);
  const auto out = [&](LayerFixture& fixture, bool train) {
    return fixture.fprop(fixture.tensor(values, {256, 1, 8}), train).to_host<float>();
  };
  CHECK(out(skipping, false) == out(plain, false));
  const auto y = out(skipping, true);
  int whole = 0;
  for (std::size_t example = 0; example < 256; ++example) {
    const auto at = static_cast<std::ptrdiff_t>(8 * example);
    whole += std::equal(y.begin() + at, y.begin() + at + 8, values.begin() + at) ? 1 : 0;
  }
  // 256 draws of probability 1/4: standard deviation 7; 5 of them.
  CHECK(std::abs(whole - 64) < 35);
}

TEST_CASE("gradients of attention layers match central differences") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const auto gradients = [&](const char* key, const Value& config) {
    INFO(backend << " " << key);
    LayerFixture fixture(backend, {key, config});
    const Tensor x = fixture.tensor(random_values(2 * 3 * 4, 21), {2, 3, 4});
    CHECK(trivet::testing::check_layer_gradients(fixture.layer(), fixture.store(), x) == "");
  };
  Value small = Value::table({{"input_dims", 4}, {"num_heads", 2}});
  gradients("nn/MultiHeadAttention", small);
  gradients("nn/TransformerBlock", small);
  small.set("num_kv_heads", 1);
  small.set("causal", true);
  gradients("nn/MultiHeadAttention", small);
  gradients("nn/TransformerBlock", small);
}

TEST_CASE("attention layers report mismatched inputs") {
  const auto make = [](const char* key, const Value& config) {
    LayerFixture fixture("tiny/Backend", {key, config});
  };
  for (const char* key : {"nn/MultiHeadAttention", "nn/TransformerBlock"}) {
    CHECK_THROWS_WITH(
        make(key, fields({{"num_heads", 3}})),
        Contains("num_heads") && Contains("is 3, which does not divide input_dims = 8"));
    CHECK_THROWS_WITH(
        make(key, fields({{"num_kv_heads", 3}})),
        Contains("num_kv_heads") && Contains("is 3, which does not divide num_heads = 4"));
  }
  LayerFixture fixture("tiny/Backend", {"nn/MultiHeadAttention", fields({})});
  CHECK_THROWS_WITH(fixture.fprop(Tensor::zeros(fixture.device(), {2, 8})),
                    Contains("[nn/MultiHeadAttention] 'layer': expected [B, T, 8]") &&
                        Contains("got f32 [2, 8]"));
}

}  // namespace nn_attention_test
