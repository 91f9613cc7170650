// SPDX-License-Identifier: Apache-2.0
// Fine-tuning: low-rank matrices next to weights, and adapters after blocks.
#include <algorithm>
#include <cmath>
#include <set>

#include <catch2/catch.hpp>

#include "plugins/lm/transformer_reference.h"
#include "support/layer_fixture.h"
#include "support/plugins.h"
#include "trivet/error.h"
#include "trivet/testing/layer_check.h"

namespace nn_lora_test {
namespace {

using Catch::Contains;
using trivet::Tensor;
using trivet::Value;
using trivet::test::affine;
using trivet::test::flattened;
using trivet::test::largest_error;
using trivet::test::LayerFixture;
using trivet::test::random_values;
using trivet::test::Row;
using trivet::test::Rows;
using trivet::test::sequences;
using trivet::test::sum;

constexpr double kTolerance = 2e-5;
constexpr std::int64_t kDims = 8, kLength = 5;

Value linear(const Value& lora, const char* activation = "none") {
  return Value::table(
      {{"input_dims", 7}, {"output_dims", 5}, {"activation", activation}, {"lora", lora}});
}

Value block(std::initializer_list<std::pair<std::string_view, Value>> more) {
  Value config = Value::table({{"input_dims", kDims}, {"num_heads", 2}, {"hidden_dims", 6}});
  for (const auto& [name, value] : more) config.set(name, value);
  return config;
}

Value rank(std::int64_t rank) {
  return Value::table({{"rank", rank}});
}

// The path of a variable below the layer.
std::string below(const trivet::Parameter& parameter) {
  return parameter.path().substr(std::string("layer/").size());
}

// Randomizes everything that starts at 0 or 1.
void randomize(const LayerFixture& layer) {
  std::uint64_t seed = 60;
  for (const auto& parameter : layer.store().parameters()) {
    layer.set(below(*parameter), random_values(parameter->shape().size(), ++seed, 0.5));
  }
}

std::vector<float> output(const LayerFixture& layer, bool train = false) {
  const Tensor x = layer.tensor(random_values(2 * kLength * kDims, 3), {2, kLength, kDims});
  return layer.fprop(x, train).to_host<float>();
}

// The paths of the variables with this ending.
std::set<std::string> ending(const LayerFixture& layer, std::string_view end) {
  std::set<std::string> paths;
  for (const auto& parameter : layer.store().parameters()) {
    const std::string path = below(*parameter);
    if (path.ends_with(end)) paths.insert(path.substr(0, path.size() - end.size()));
  }
  return paths;
}

}  // namespace

// Hu et al. 2021, section 4.1: h = W0 x + alpha / r B A x.
TEST_CASE("LoRA adds the product of two low-rank matrices to a Linear's weights") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const double alpha = GENERATE(0.0, 6.0);
  const char* activation = GENERATE("none", "nn/Tanh", "nn/Elu");
  INFO(backend << " alpha " << alpha << " " << activation);
  const LayerFixture layer(
      backend, {"nn/Linear", linear(Value::table({{"rank", 3}, {"alpha", alpha}}), activation)});
  CHECK(layer.parameter("lora_a").shape() == trivet::Shape({7, 3}));
  CHECK(layer.parameter("lora_b").shape() == trivet::Shape({3, 5}));
  randomize(layer);
  const std::vector<float> x = random_values(6 * 7, 4);
  std::vector<double> want;
  for (const Rows& rows : sequences(x, 6, 7)) {
    for (const Row& row : rows) {
      const Row thin = affine(row, layer.values("lora_a"), {});
      const Row beside = affine(thin, layer.values("lora_b"), {});
      const Row y = affine(row, layer.values("w"), layer.values("b"));
      for (std::size_t i = 0; i < y.size(); ++i) {
        const double z = y[i] + (alpha > 0 ? alpha / 3 : 1) * beside[i];
        if (activation == std::string("nn/Tanh")) want.push_back(std::tanh(z));
        if (activation == std::string("nn/Elu")) want.push_back(z > 0 ? z : std::exp(z) - 1);
        if (activation == std::string("none")) want.push_back(z);
      }
    }
  }
  const Tensor y = layer.fprop(layer.tensor(x, {2, 3, 7}));
  CHECK(largest_error(y.to_host<float>(), want) < kTolerance);
}

TEST_CASE("a layer with LoRA or an adapter starts as the one without") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const LayerFixture plain(backend, {"nn/TransformerBlock", block({})});
  for (const Value& config : {block({{"lora", rank(2)}}), block({{"adapter_dims", 3}})}) {
    INFO(backend << " " << trivet::to_toml(config));
    const LayerFixture tuned(backend, {"nn/TransformerBlock", config});
    for (const auto& parameter : plain.store().parameters()) {
      tuned.set(below(*parameter), plain.values(below(*parameter)));
    }
    CHECK(largest_error(output(tuned), output(plain)) < 1e-6);
    CHECK(tuned.store().parameters().size() > plain.store().parameters().size());
  }
  // As in the authors' library, the first matrix is uniform below 1 / sqrt(fan_in).
  const LayerFixture one(backend, {"nn/Linear", linear(rank(500))});
  const std::vector<float> a = one.values("lora_a");
  const auto [least, most] = std::minmax_element(a.begin(), a.end());
  CHECK(*most == Approx(1 / std::sqrt(7.0)).epsilon(0.01));
  CHECK(*least == Approx(-1 / std::sqrt(7.0)).epsilon(0.01));
}

TEST_CASE("LoRA goes to the products that a config names, and to all if it names none") {
  const auto products = [](const char* key, const Value& config) {
    return ending(LayerFixture("tiny/Backend", {key, config}), "/lora_a");
  };
  using Names = std::set<std::string>;
  const auto some = [](std::initializer_list<Value> names) {
    return Value::table({{"rank", 2}, {"layers", Value::array(names)}});
  };
  CHECK(products("nn/TransformerBlock", block({{"lora", rank(2)}})) ==
        Names{"attention/query", "attention/key", "attention/value", "attention/output", "mlp_in",
              "mlp_out"});
  CHECK(products("nn/TransformerBlock", block({{"lora", some({"query", "value", "gate"})},
                                               {"use_gated_activation", true}})) ==
        Names{"attention/query", "attention/value", "mlp_gate"});
  CHECK(products("nn/TransformerBlock",
                 block({{"lora", some({"out"})},
                        {"ffn_tpl", Value::table({{"type", "nn/FeedForward"}})}})) ==
        Names{"feed_forward/out"});
  // A template's own value overrides the block's.
  const Value own = Value::table({{"type", "nn/MultiHeadAttention"}, {"lora", some({"key"})}});
  CHECK(products("nn/TransformerBlock", block({{"lora", rank(2)}, {"attention_tpl", own}})) ==
        Names{"attention/key", "mlp_in", "mlp_out"});
  CHECK(products("nn/TransformerBlock", block({})).empty());
  // Experts have no LoRA.
  const Value experts = Value::table({{"type", "nn/MoeFeedForward"}, {"num_experts", 2}});
  CHECK(products("nn/TransformerBlock", block({{"lora", some({"key", "in"})},
                                               {"ffn_tpl", experts}})) == Names{"attention/key"});
}

TEST_CASE("LoRA's dropout is of training, and of the low-rank matrices alone") {
  const Value lora = Value::table({{"rank", 2}, {"dropout", 0.5}});
  const LayerFixture layer("tiny/Backend", {"nn/TransformerBlock", block({{"lora", lora}})});
  CHECK(output(layer) == output(layer, true));  // lora_b is 0
  randomize(layer);
  CHECK(output(layer) == output(layer));
  CHECK(output(layer) != output(layer, true));
}

// Houlsby et al. 2019 with the norm first, as in Praxis' ResidualAdapter: y + W2 relu(W1 norm(y)).
TEST_CASE("an adapter follows its block, under any norm_policy") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const char* policy = GENERATE("pre", "primer_hybrid", "post", "post_skip");
  INFO(backend << " " << policy);
  const Value with = block({{"norm_policy", policy}, {"adapter_dims", 3}});
  const LayerFixture layer(backend, {"nn/TransformerBlock", with});
  const LayerFixture plain(backend, {"nn/TransformerBlock", block({{"norm_policy", policy}})});
  randomize(layer);
  for (const auto& parameter : plain.store().parameters()) {
    plain.set(below(*parameter), layer.values(below(*parameter)));
  }
  CHECK(layer.parameter("adapter_in/w").shape() == trivet::Shape({kDims, 3}));
  std::vector<Rows> want;
  for (const Rows& y : sequences(output(plain), kLength, kDims)) {
    Rows inside = affine(trivet::test::layer_norm(y, layer.values("adapter_norm/scale"),
                                                  layer.values("adapter_norm/bias")),
                         layer.values("adapter_in/w"), layer.values("adapter_in/b"));
    for (Row& row : inside) {
      for (double& v : row) v = std::max(v, 0.0);
    }
    want.push_back(
        sum(y, affine(inside, layer.values("adapter_out/w"), layer.values("adapter_out/b"))));
  }
  CHECK(largest_error(output(layer), flattened(want)) < kTolerance);
}

TEST_CASE("gradients of LoRA and adapters match central differences") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  for (const Value& config :
       {block({{"lora", Value::table({{"rank", 2}, {"alpha", 3.0}})}, {"norm_policy", "post"}}),
        block({{"adapter_dims", 3}})}) {
    INFO(backend << " " << trivet::to_toml(config));
    const LayerFixture layer(backend, {"nn/TransformerBlock", config});
    randomize(layer);
    const Tensor x = layer.tensor(random_values(2 * kDims, 21), {1, 2, kDims});
    CHECK(trivet::testing::check_layer_gradients(layer.layer(), layer.store(), x) == "");
  }
}

TEST_CASE("LoRA settings without effect are refused") {
  const auto made = [](const char* key, const Value& config) {
    LayerFixture("tiny/Backend", {key, config});
  };
  const auto naming = [](const char* name) {
    return Value::table({{"rank", 2}, {"layers", Value::array({name})}});
  };
  CHECK_THROWS_WITH(made("nn/TransformerBlock", block({{"lora", naming("qeury")}})),
                    Contains("lora.layers") && Contains("has \"qeury\"") &&
                        Contains("query, key, value, output, in, gate, out"));
  CHECK_THROWS_WITH(made("nn/Linear", linear(naming("query"))),
                    Contains("lora.layers") && Contains("has only one"));
  CHECK_THROWS_WITH(
      made("nn/FeedForward",
           Value::table({{"input_dims", 8}, {"lora", Value::table({{"alpha", 8.0}})}})),
      Contains("lora.rank") && Contains("is 0"));
  CHECK_THROWS_WITH(made("nn/Linear", linear(rank(-1))), Contains("lora.rank"));
}

}  // namespace nn_lora_test
