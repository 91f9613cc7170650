// SPDX-License-Identifier: Apache-2.0
// Options of MultiHeadAttention against the formulas in double.
#include <cmath>

#include <catch2/catch.hpp>

#include "plugins/lm/transformer_reference.h"
#include "support/layer_fixture.h"
#include "support/plugins.h"
#include "trivet/error.h"
#include "trivet/tape.h"
#include "trivet/tensor/random.h"
#include "trivet/testing/layer_check.h"

namespace nn_attention_variants_test {
namespace {

using Catch::Contains;
using trivet::FpropContext;
using trivet::Tensor;
using trivet::Value;
using trivet::test::flattened;
using trivet::test::Heads;
using trivet::test::largest_error;
using trivet::test::LayerFixture;
using trivet::test::random_values;
using trivet::test::Row;
using trivet::test::Rows;
using trivet::test::sequences;

// Sums of at most a hundred products in f32, an exponential and a root.
constexpr double kTolerance = 2e-5;
constexpr std::size_t kLength = 5, kDims = 8, kHeads = 2, kDepth = 4;

Value fields(std::initializer_list<std::pair<std::string_view, Value>> more) {
  Value all = Value::table({{"input_dims", kDims}, {"num_heads", kHeads}});
  for (const auto& [name, value] : more) all.set(name, value);
  return all;
}

class Attention : public LayerFixture {
 public:
  Attention(const std::string& backend, const Value& config)
      : LayerFixture(backend, {"nn/MultiHeadAttention", config}) {
    std::uint64_t seed = 30;
    for (const auto& parameter : store().parameters()) {
      if (parameter->path().ends_with("/w")) continue;
      set(parameter->path().substr(std::string("layer/").size()),
          random_values(parameter->shape().size(), ++seed));
    }
  }

  Tensor ids(const std::vector<std::int32_t>& values) const {
    return Tensor::from<std::int32_t>(device(), values, {2, kLength});
  }

  // Checks two sequences against the formulas.
  void check(const Heads& heads, FpropContext context = {}) const {
    const std::vector<float> x = random_values(2 * kLength * kDims, 3);
    const Tensor y = layer().fprop(tensor(x, {2, kLength, kDims}), context);
    std::vector<Rows> want;
    for (const Rows& rows : sequences(x, kLength, kDims)) {
      want.push_back(trivet::test::attention(rows, weights(), heads));
    }
    CHECK(largest_error(y.to_host<float>(), flattened(want)) < kTolerance);
  }

  trivet::test::Weights weights() const {
    return [this](const std::string& path) {
      const bool there = store().find("layer/" + path) != nullptr;
      return there ? values(path) : std::vector<float>();
    };
  }
};

// Su et al. 2021 on the first `rotary` features, in the half-split layout.
Row turned(const Row& head, double position, double theta, std::size_t rotary) {
  Row y = head;
  const std::size_t half = rotary / 2;
  for (std::size_t i = 0; i < half; ++i) {
    const double angle =
        position * std::pow(theta, -2.0 * static_cast<double>(i) / static_cast<double>(rotary));
    y[i] = head[i] * std::cos(angle) - head[i + half] * std::sin(angle);
    y[i + half] = head[i + half] * std::cos(angle) + head[i] * std::sin(angle);
  }
  return y;
}

Row rms_norm(const Row& x, const std::vector<float>& scale) {
  double square = 0;
  for (const double v : x) square += v * v / static_cast<double>(x.size());
  Row y;
  for (std::size_t i = 0; i < x.size(); ++i) {
    y.push_back(x[i] / std::sqrt(square + 1e-6) * static_cast<double>(scale[i]));
  }
  return y;
}

bool causal(std::size_t i, std::size_t j) {
  return j <= i;
}

}  // namespace

TEST_CASE("rotary positions turn queries and keys") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  Heads heads{kHeads, kHeads};
  heads.prepared = [](const Row& head, std::size_t i, bool) {
    return turned(head, static_cast<double>(i), 10000, kDepth);
  };
  Attention(backend, fields({{"use_rotary_position_emb", true}})).check(heads);

  heads.prepared = [](const Row& head, std::size_t i, bool) {
    return turned(head, static_cast<double>(i), 50, 2);
  };
  const Value half =
      fields({{"use_rotary_position_emb", true}, {"rotary_theta", 50.0}, {"rotary_dims", 2}});
  Attention(backend, half).check(heads);

  const Attention placed(backend, half);
  FpropContext context;
  context.positions = placed.ids({3, 9, 10, 0, 1, 3, 9, 10, 0, 1});
  heads.prepared = [](const Row& head, std::size_t i, bool) {
    const double positions[] = {3, 9, 10, 0, 1};
    return turned(head, positions[i], 50, 2);
  };
  placed.check(heads, context);
}

TEST_CASE("queries and keys are normalized after the rotation") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const Attention layer(backend, fields({{"qk_norm", true}, {"use_rotary_position_emb", true}}));
  const auto query = layer.values("query_norm/scale"), key = layer.values("key_norm/scale");
  Heads heads{kHeads, kHeads};
  heads.prepared = [&](const Row& head, std::size_t i, bool asks) {
    return rms_norm(turned(head, static_cast<double>(i), 10000, kDepth), asks ? query : key);
  };
  layer.check(heads);
}

TEST_CASE("each feature of the queries has a scale, which starts as the root of the depth") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const Attention layer(backend, fields({{"per_dim_scale", true}}));
  const auto w = layer.values("per_dim_scale");
  Heads heads{kHeads, kHeads};
  heads.prepared = [&](const Row& head, std::size_t, bool asks) {
    Row y = head;
    for (std::size_t d = 0; asks && d < kDepth; ++d) {
      y[d] *= std::log1p(std::exp(static_cast<double>(w[d]))) / std::log(2.0);
    }
    return y;
  };
  layer.check(heads);
  const LayerFixture fresh(backend, {"nn/MultiHeadAttention", fields({{"per_dim_scale", true}})});
  CHECK(fresh.values("per_dim_scale") == std::vector<float>(kDepth, 0));
  // A large scale does not overflow on its way through exp.
  layer.set("per_dim_scale", {200, -200, 0, 1});
  const Tensor y = layer.fprop(layer.tensor(random_values(8, 4), {1, 1, 8}));
  for (const float v : y.to_host<float>()) CHECK(std::isfinite(v));
}

TEST_CASE("the gradient of the scale of each feature does not jump where it starts") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const LayerFixture layer(backend, {"nn/MultiHeadAttention", fields({{"per_dim_scale", true}})});
  const Tensor x = layer.tensor(random_values(24, 4), {1, 3, 8});
  const Tensor dy = layer.tensor(random_values(24, 5), {1, 3, 8});
  const auto gradient_at = [&](float w) {
    layer.set("per_dim_scale", std::vector<float>(kDepth, w));
    layer.store().begin_gradients();
    trivet::Tape tape;
    Tensor y;
    {
      trivet::Tape::Recording recording(tape);
      y = layer.fprop(x);
    }
    tape.backward(y, dy);
    return layer.parameter("per_dim_scale").gradient().to_host<float>();
  };
  const std::vector<float> at_zero = gradient_at(0), beside = gradient_at(1e-4F);
  for (std::size_t d = 0; d < kDepth; ++d) {
    CHECK(at_zero[d] == Approx(beside[d]).epsilon(1e-3).margin(1e-5));
  }
}

TEST_CASE("windows bound the distance and caps the scores") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  Heads heads{kHeads, kHeads, [](std::size_t i, std::size_t j) { return j <= i && i - j < 2; }};
  heads.scored = [](double score, std::size_t, std::size_t, std::size_t) {
    return 0.5 * std::tanh(score / 0.5);
  };
  Attention(backend, fields({{"causal", true}, {"window", 2}, {"atten_logit_cap", 0.5}}))
      .check(heads);
}

TEST_CASE("a prefix is seen by all positions of its segment") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const Attention layer(backend, fields({{"causal", true}}));
  FpropContext context;
  context.inputs_indicator = layer.tensor({1, 1, 0, 1, 0, 1, 1, 0, 1, 0}, {2, kLength});
  const int prefix[] = {1, 1, 0, 1, 0}, segment[] = {1, 1, 1, 2, 2};
  layer.check({kHeads, kHeads, [&](auto i, auto j) { return j <= i || prefix[j] == 1; }}, context);
  context.segment_ids = layer.ids({1, 1, 1, 2, 2, 1, 1, 1, 2, 2});
  layer.check(
      {kHeads, kHeads,
       [&](auto i, auto j) { return segment[i] == segment[j] && (j <= i || prefix[j] == 1); }},
      context);
}

TEST_CASE("attention weights are dropped in training, others grow") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const Attention layer(backend, fields({{"atten_dropout", 0.25}, {"causal", true}}));
  layer.check({kHeads, kHeads, causal});
  FpropContext context;
  context.train = true;
  context.key = trivet::RngKey(5);
  std::vector<std::uint32_t> bits(2 * kHeads * kLength * kLength);
  trivet::random_bits(context.key_for("layer", "atten_dropout"), 0, bits);
  std::size_t sequence = 0;
  Heads heads{kHeads, kHeads, causal};
  heads.weighed = [&](double weight, std::size_t head, std::size_t i, std::size_t j) {
    const std::size_t at = ((sequence * kHeads + head) * kLength + i) * kLength + j;
    return bits[at] < 0x40000000u ? 0 : weight / 0.75;
  };
  const std::vector<float> x = random_values(2 * kLength * kDims, 3);
  const Tensor y = layer.layer().fprop(layer.tensor(x, {2, kLength, kDims}), context);
  std::vector<Rows> want;
  for (const Rows& rows : sequences(x, kLength, kDims)) {
    want.push_back(trivet::test::attention(rows, layer.weights(), heads));
    ++sequence;
  }
  CHECK(largest_error(y.to_host<float>(), flattened(want)) < kTolerance);
}

TEST_CASE("cross-attention looks at another sequence") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  constexpr std::size_t kPlaces = 3, kCrossDims = 6;
  const Attention layer(backend, fields({{"cross_attention", true}, {"cross_dims", kCrossDims}}));
  const std::vector<float> x = random_values(2 * kLength * kDims, 3),
                           source = random_values(2 * kPlaces * kCrossDims, 4);
  FpropContext context;
  context.cross_inputs = layer.tensor(source, {2, kPlaces, kCrossDims});
  const auto check = [&](const std::function<bool(std::size_t, std::size_t)>& sees) {
    const Tensor y = layer.layer().fprop(layer.tensor(x, {2, kLength, kDims}), context);
    const auto asking = sequences(x, kLength, kDims),
               asked = sequences(source, kPlaces, kCrossDims);
    std::vector<Rows> want;
    for (std::size_t b = 0; b < 2; ++b) {
      want.push_back(
          trivet::test::attention(asking[b], asked[b], layer.weights(), {kHeads, kHeads, sees}));
    }
    CHECK(largest_error(y.to_host<float>(), flattened(want)) < kTolerance);
  };
  check([](std::size_t, std::size_t) { return true; });
  context.cross_paddings = layer.tensor({0, 0, 1, 0, 0, 1}, {2, kPlaces});
  check([](std::size_t, std::size_t j) { return j < 2; });
  const std::size_t from[] = {1, 1, 1, 2, 2}, to[] = {1, 2, 2};
  context.segment_ids = layer.ids({1, 1, 1, 2, 2, 1, 1, 1, 2, 2});
  const std::vector<std::int32_t> cross{1, 2, 2, 1, 2, 2};
  context.cross_segment_ids = Tensor::from<std::int32_t>(layer.device(), cross, {2, kPlaces});
  check([&](std::size_t i, std::size_t j) { return j < 2 && from[i] == to[j]; });
}

TEST_CASE("gradients of attention's options match central differences") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const auto check = [&](std::initializer_list<std::pair<std::string_view, Value>> more,
                         bool train = false) {
    const Value config = fields(more);
    INFO(backend << " " << trivet::to_toml(config));
    const Attention layer(backend, config);
    const Tensor x = layer.tensor(random_values(2 * 3 * kDims, 21), {2, 3, kDims});
    trivet::testing::LayerCheckOptions options;
    options.train = train;
    CHECK(trivet::testing::check_layer_gradients(layer.layer(), layer.store(), x, options) == "");
  };
  check({{"use_rotary_position_emb", true}, {"qk_norm", true}});
  check({{"per_dim_scale", true}, {"causal", true}, {"window", 2}, {"atten_logit_cap", 2.0}});
  check({{"atten_dropout", 0.5}, {"num_kv_heads", 1}}, true);
}

TEST_CASE("attention reports conflicting options") {
  const auto make = [](std::initializer_list<std::pair<std::string_view, Value>> more) {
    return Attention("tiny/Backend", fields(more));
  };
  CHECK_THROWS_WITH(make({{"rotary_dims", 3}}), Contains("is 3, not an even number"));
  CHECK_THROWS_WITH(
      make({{"use_rotary_position_emb", true}, {"rotary_dims", 6}}),
      Contains("rotary_dims") && Contains("must be even and at most the 4 features of a head"));
  CHECK_THROWS_WITH(make({{"cross_attention", true}, {"causal", true}}),
                    Contains("cross_attention") && Contains("excludes causal"));
  CHECK_THROWS_WITH(make({{"num_heads", 0}}), Contains("'layer': num_heads is not set"));
  const Attention cross = make({{"cross_attention", true}});
  const Tensor x = Tensor::zeros(cross.device(), {1, 2, kDims});
  CHECK_THROWS_WITH(cross.fprop(x), Contains("'layer': the context has no cross_inputs"));
  FpropContext context;
  context.cross_inputs = Tensor::zeros(cross.device(), {1, 2, 3});
  CHECK_THROWS_WITH(cross.layer().fprop(x, context),
                    Contains("expected cross_inputs [1, S, 8]") && Contains("[1, 2, 3]"));
}

}  // namespace nn_attention_variants_test
