// SPDX-License-Identifier: Apache-2.0
// RmsNorm, FeedForward, embeddings of positions and the forms of TransformerBlock, against their
// formulas in double.
#include <cmath>
#include <map>

#include <catch2/catch.hpp>

#include "plugins/lm/transformer_reference.h"
#include "support/layer_fixture.h"
#include "support/plugins.h"
#include "trivet/error.h"
#include "trivet/testing/layer_check.h"

namespace nn_feed_forward_test {
namespace {

using Catch::Contains;
using trivet::FpropContext;
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
using trivet::test::Weights;

constexpr double kTolerance = 2e-5;
constexpr std::size_t kLength = 5, kDims = 8;

// A layer with random scales and biases (they start at 1 and 0).
class Randomized : public LayerFixture {
 public:
  Randomized(const std::string& backend, const std::string& key, const Value& config)
      : LayerFixture(backend, {key, config}) {
    std::uint64_t seed = 40;
    for (const auto& parameter : store().parameters()) {
      const std::string below = parameter->path().substr(std::string("layer/").size());
      if (!below.ends_with("w")) set(below, random_values(parameter->shape().size(), ++seed));
    }
  }

  Weights weights() const {
    return [this](const std::string& path) {
      const bool there = store().find("layer/" + path) != nullptr;
      return there ? values(path) : std::vector<float>();
    };
  }

  // Checks two sequences against `formula`.
  void check(const std::function<Rows(const Rows&)>& formula) const {
    const std::vector<float> x = random_values(2 * kLength * kDims, 3);
    const Tensor y = fprop(tensor(x, {2, kLength, kDims}));
    std::vector<Rows> want;
    for (const Rows& rows : sequences(x, kLength, kDims)) want.push_back(formula(rows));
    CHECK(largest_error(y.to_host<float>(), flattened(want)) < kTolerance);
  }
};

double silu(double x) {
  return x / (1 + std::exp(-x));
}
double gelu(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

// Shazeer 2020: (act(x Wg) * (x W)) W2, with biases.
Rows gated(const Rows& x, const Weights& weight, const std::string& prefix, double (*act)(double)) {
  const auto product = [&](const Rows& rows, const std::string& name) {
    return affine(rows, weight(prefix + name + "/w"), weight(prefix + name + "/b"));
  };
  Rows h = product(x, "in");
  const Rows gate = product(x, "gate");
  for (std::size_t i = 0; i < h.size(); ++i) {
    for (std::size_t d = 0; d < h[i].size(); ++d) h[i][d] *= act(gate[i][d]);
  }
  return product(h, "out");
}

Rows rms_norm(const Rows& x, const std::vector<float>& scale) {
  Rows y = x;
  for (Row& row : y) {
    double square = 0;
    for (const double v : row) square += v * v / static_cast<double>(row.size());
    for (std::size_t i = 0; i < row.size(); ++i) {
      row[i] *= static_cast<double>(scale[i]) / std::sqrt(square + 1e-6);
    }
  }
  return y;
}

Value block(std::initializer_list<std::pair<std::string_view, Value>> more) {
  Value all = Value::table({{"input_dims", kDims}, {"num_heads", 2}, {"hidden_dims", 6}});
  for (const auto& [name, value] : more) all.set(name, value);
  return all;
}

}  // namespace

TEST_CASE("RmsNorm divides each row by the root of its mean square") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const Randomized layer(backend, "nn/RmsNorm", Value::table({{"dim", kDims}}));
  layer.check([&](const Rows& x) { return rms_norm(x, layer.values("scale")); });
  const LayerFixture fresh(backend, {"nn/RmsNorm", Value::table({{"dim", kDims}})});
  CHECK(fresh.values("scale") == std::vector<float>(kDims, 1));
  const Randomized plain(backend, "nn/RmsNorm",
                         Value::table({{"dim", kDims}, {"use_scale", false}}));
  CHECK(plain.store().parameters().empty());
  plain.check([](const Rows& x) { return rms_norm(x, std::vector<float>(kDims, 1)); });
  CHECK_THROWS_WITH(plain.fprop(Tensor::zeros(plain.device(), {2, 3})),
                    Contains("[nn/RmsNorm] 'layer': expected [.., 8]"));
  CHECK_THROWS_WITH(LayerFixture(backend, {"nn/RmsNorm", Value::table()}),
                    Contains("'layer': dim is not set"));
  CHECK_THROWS_WITH(LayerFixture(backend, {"nn/LayerNorm", Value::table()}),
                    Contains("'layer': dim is not set"));
}

TEST_CASE("FeedForward is gated if configured") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const Value silu_gated = Value::table({{"input_dims", kDims},
                                         {"hidden_dims", 6},
                                         {"use_gated_activation", true},
                                         {"activation", "nn/Silu"}});
  const Randomized swiglu(backend, "nn/FeedForward", silu_gated);
  swiglu.check([&](const Rows& x) { return gated(x, swiglu.weights(), "", silu); });
  const Randomized geglu(
      backend, "nn/FeedForward",
      Value::table({{"input_dims", kDims}, {"use_gated_activation", true}, {"has_bias", false}}));
  CHECK(geglu.parameter("in/w").shape() == trivet::Shape{8, 32});
  CHECK(geglu.store().parameters().size() == 3);
  geglu.check([&](const Rows& x) { return gated(x, geglu.weights(), "", gelu); });
  const Randomized plain(backend, "nn/FeedForward",
                         Value::table({{"input_dims", kDims}, {"hidden_dims", 6}}));
  plain.check([&](const Rows& x) {
    const Weights w = plain.weights();
    Rows h = affine(x, w("in/w"), w("in/b"));
    for (Row& row : h) {
      for (double& v : row) v = gelu(v);
    }
    return affine(h, w("out/w"), w("out/b"));
  });
  CHECK_THROWS_WITH(plain.fprop(Tensor::zeros(plain.device(), {2, 3})),
                    Contains("[nn/FeedForward] 'layer': expected [.., 8]"));
  CHECK_THROWS_WITH(LayerFixture(backend, {"nn/FeedForward", Value::table()}),
                    Contains("'layer': input_dims is not set"));
}

TEST_CASE("norm_policy places the norms of a TransformerBlock") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const std::string policy = GENERATE("pre", "primer_hybrid", "post", "post_skip");
  const Randomized layer(backend, "nn/TransformerBlock",
                         block({{"norm_policy", policy},
                                {"norm_tpl", "nn/RmsNorm"},
                                {"use_gated_activation", true},
                                {"activation", "nn/Silu"}}));
  const auto norm = [&](const Rows& x, const std::string& name) {
    return rms_norm(x, layer.values(name + "/scale"));
  };
  const auto around = [&](const Rows& x, const std::string& name,
                          const std::function<Rows(const Rows&)>& f) {
    if (policy == "pre") return sum(x, f(norm(x, name + "_norm")));
    if (policy == "post") return sum(x, norm(f(x), name + "_norm"));
    if (policy == "post_skip") return norm(sum(x, f(x)), name + "_norm");
    return sum(x, norm(f(norm(x, name + "_norm")), name + "_post_norm"));
  };
  const Weights weights = layer.weights();
  layer.check([&](const Rows& x) {
    const Rows h = around(x, "attention", [&](const Rows& y) {
      return trivet::test::attention(
          y, [&](const std::string& path) { return weights("attention/" + path); }, {2, 2});
    });
    return around(h, "mlp", [&](const Rows& y) { return gated(y, weights, "mlp_", silu); });
  });
}

TEST_CASE("a TransformerBlock fills in its templates") {
  const LayerFixture layer(
      "tiny/Backend",
      {"nn/TransformerBlock",
       block({{"has_bias", false},
              {"causal", true},
              {"norm_tpl", "nn/RmsNorm"},
              {"output_init", Value::table({{"method", "constant"}, {"scale", 0.5}})},
              {"attention_tpl",
               Value::table({{"type", "nn/MultiHeadAttention"}, {"dims_per_head", 3}})},
              {"ffn_tpl", Value::table({{"type", "nn/FeedForward"}, {"has_bias", false}})}})});
  std::map<std::string, std::string> shapes;
  for (const auto& parameter : layer.store().parameters()) {
    shapes[parameter->path().substr(6)] = parameter->shape().to_string();
  }
  CHECK(shapes == std::map<std::string, std::string>{{"attention_norm/scale", "[8]"},
                                                     {"attention/query/w", "[8, 6]"},
                                                     {"attention/key/w", "[8, 6]"},
                                                     {"attention/value/w", "[8, 6]"},
                                                     {"attention/output/w", "[6, 8]"},
                                                     {"mlp_norm/scale", "[8]"},
                                                     {"feed_forward/in/w", "[8, 6]"},
                                                     {"feed_forward/out/w", "[6, 8]"}});
  CHECK(layer.values("attention/output/w") == std::vector<float>(48, 0.5F));
  CHECK_THROWS_WITH(
      LayerFixture("tiny/Backend", {"nn/TransformerBlock", block({{"attention_tpl", "none"}})}),
      Contains("attention_tpl") && Contains("a block needs one"));
}

TEST_CASE("a TransformerBlock's parts have separate dropout rates") {
  const auto same_in_training = [](std::initializer_list<std::pair<std::string_view, Value>> more) {
    const LayerFixture layer("tiny/Backend", {"nn/TransformerBlock", block(more)});
    const Tensor x = layer.tensor(random_values(40, 3), {1, kLength, kDims});
    return layer.fprop(x).to_host<float>() == layer.fprop(x, true).to_host<float>();
  };
  CHECK(same_in_training({{"dropout", 0.5}, {"residual_dropout", 0.0}, {"relu_dropout", 0.0}}));
  CHECK_FALSE(same_in_training({{"dropout", 0.5}, {"residual_dropout", 0.0}}));
  CHECK_FALSE(same_in_training({{"relu_dropout", 0.5}}));
  CHECK_FALSE(same_in_training({{"residual_dropout", 0.5}}));
  CHECK_FALSE(same_in_training({{"atten_dropout", 0.5}}));
}

TEST_CASE("positions are sines, then cosines") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const std::int64_t dims = GENERATE(1, 2, 3, 8);
  INFO(dims);
  const LayerFixture layer(backend, {"nn/PositionalEmbedding",
                                     Value::table({{"input_dims", dims}, {"max_timescale", 300}})});
  FpropContext context;
  const std::vector<std::int32_t> positions{0, 1, 2, 7, 0, 200};
  const auto wanted = [&](const std::vector<std::int32_t>& at) {
    std::vector<double> want;
    const std::int64_t n = dims / 2;
    for (const std::int32_t position : at) {
      for (std::int64_t i = 0; i < 2 * n; ++i) {
        const double part = static_cast<double>(i % n) / static_cast<double>(n > 1 ? n - 1 : 1);
        const double angle = position * std::exp(-part * std::log(300.0));
        want.push_back(1 + (i < n ? std::sin(angle) : std::cos(angle)));
      }
      if (dims % 2 == 1) want.push_back(1);
    }
    return want;
  };
  const Tensor x = Tensor::full(layer.device(), {2, 3, dims}, 1);
  CHECK(largest_error(layer.layer().fprop(x, context).to_host<float>(),
                      wanted({0, 1, 2, 0, 1, 2})) < kTolerance);
  context.positions = Tensor::from<std::int32_t>(layer.device(), positions, {2, 3});
  CHECK(largest_error(layer.layer().fprop(x, context).to_host<float>(), wanted(positions)) <
        kTolerance);
  CHECK_THROWS_WITH(layer.fprop(Tensor::zeros(layer.device(), {2, dims})),
                    Contains("[nn/PositionalEmbedding] 'layer': expected [B, T, "));
}

TEST_CASE("learned positions are rows of a table") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const LayerFixture layer(backend, {"nn/TrainablePositionalEmbedding",
                                     Value::table({{"input_dims", 2}, {"max_seq_length", 4}})});
  layer.set("table", {0, 1, 2, 3, 4, 5, 6, 7});
  const Tensor x = Tensor::full(layer.device(), {1, 3, 2}, 10);
  CHECK(layer.fprop(x).to_host<float>() == std::vector<float>{10, 11, 12, 13, 14, 15});
  FpropContext context;
  const std::vector<std::int32_t> positions{3, 0, 3}, beyond{3, 4, 0};
  context.positions = Tensor::from<std::int32_t>(layer.device(), positions, {1, 3});
  CHECK(layer.layer().fprop(x, context).to_host<float>() ==
        std::vector<float>{16, 17, 10, 11, 16, 17});
  CHECK_THROWS_WITH(layer.fprop(Tensor::zeros(layer.device(), {1, 5, 2})),
                    Contains("'layer': 5 positions, but max_seq_length is 4"));
  context.positions = Tensor::from<std::int32_t>(layer.device(), beyond, {1, 3});
  CHECK_THROWS_WITH(layer.layer().fprop(x, context), Contains("gather_rows"));
}

TEST_CASE("gradients of the parts of a transformer match central differences") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const auto check = [&](const char* key, const Value& config) {
    INFO(backend << " " << key << " " << trivet::to_toml(config));
    const Randomized layer(backend, key, config);
    const Tensor x = layer.tensor(random_values(2 * kDims, 21), {1, 2, kDims});
    CHECK(trivet::testing::check_layer_gradients(layer.layer(), layer.store(), x) == "");
  };
  check("nn/RmsNorm", Value::table({{"dim", kDims}}));
  check("nn/FeedForward",
        Value::table({{"input_dims", kDims}, {"use_gated_activation", true}, {"hidden_dims", 3}}));
  check("nn/PositionalEmbedding", Value::table({{"input_dims", kDims}}));
  check("nn/TrainablePositionalEmbedding",
        Value::table({{"input_dims", kDims}, {"max_seq_length", 5}}));
  for (const char* policy : {"primer_hybrid", "post", "post_skip"}) {
    check("nn/TransformerBlock", Value::table({{"input_dims", kDims},
                                               {"num_heads", 2},
                                               {"hidden_dims", 3},
                                               {"norm_policy", policy}}));
  }
}

}  // namespace nn_feed_forward_test
