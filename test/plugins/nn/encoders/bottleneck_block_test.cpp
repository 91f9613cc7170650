// SPDX-License-Identifier: Apache-2.0
// MobileBERT's block against its formulas in double, gradients, segments, and its errors.
#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "plugins/lm/transformer_reference.h"
#include "support/layer_fixture.h"
#include "support/plugins.h"
#include "trivet/error.h"
#include "trivet/testing/layer_check.h"

namespace bottleneck_block_test {
namespace {

using namespace trivet::test;
using Catch::Contains;
using trivet::FpropContext;
using trivet::Tensor;
using trivet::Value;

constexpr std::int64_t kDims = 6;

trivet::ConfigOf<trivet::Layer> config(Value fields) {
  fields.set("input_dims", kDims);
  fields.set("num_heads", 2);
  fields.set("bottleneck_dims", 4);
  return {"nn/BottleneckBlock", std::move(fields)};
}

// Scales of 1 and biases of 0 would hide where they are.
struct Block : LayerFixture {
  Block(const std::string& backend, Value fields)
      : LayerFixture(backend, config(std::move(fields))) {
    std::uint64_t seed = 20;
    for (const auto& parameter : store().parameters()) {
      if (parameter->shape().rank() > 1) continue;
      std::vector<float> values = random_values(parameter->shape().size(), ++seed, 0.3);
      for (float& v : values) v += parameter->path().ends_with("scale") ? 1 : 0;
      parameter->assign(tensor(values, parameter->shape()));
    }
  }
};

Rows scaled(Rows x, const LayerFixture& layer, const std::string& norm) {
  const std::vector<float> scale = layer.values(norm + "/scale"),
                           bias = layer.values(norm + "/bias");
  for (Row& row : x) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      row[i] = row[i] * static_cast<double>(scale[i]) + static_cast<double>(bias[i]);
    }
  }
  return x;
}

Rows linear(const Rows& x, const LayerFixture& layer, const std::string& name) {
  return affine(x, layer.values(name + "/w"), layer.values(name + "/b"));
}

enum class Source { shared, bottleneck, input };

// Sun et al. 2020, table 1 (a).
Rows reference(const Rows& x, const LayerFixture& layer, Source source, int networks) {
  const Rows b = scaled(linear(x, layer, "bottleneck"), layer, "bottleneck_norm");
  Rows keys = source == Source::bottleneck ? b : x;
  const Rows values = keys;
  if (source == Source::shared) keys = scaled(linear(x, layer, "shared"), layer, "shared_norm");
  const Rows mixed =
      mixed_values(linear(keys, layer, "attention/query"), linear(keys, layer, "attention/key"),
                   linear(values, layer, "attention/value"), {.heads = 2, .kv_heads = 2});
  Rows h = scaled(sum(b, linear(mixed, layer, "attention/output")), layer, "attention_norm");
  for (int i = 0; i < networks; ++i) {
    const std::string name = "ffn_" + std::to_string(i);
    Rows inner = linear(h, layer, name + "/in");
    for (Row& row : inner) {
      for (double& v : row) v = std::max(v, 0.0);
    }
    h = scaled(sum(h, linear(inner, layer, name + "/out")), layer, name + "_norm");
  }
  return scaled(sum(x, linear(h, layer, "output")), layer, "output_norm");
}

}  // namespace

TEST_CASE("MobileBERT's block matches its published formulas in float64", "[nn]") {
  for (const std::string& backend : backends()) {
    for (const auto& [fields, source, networks] :
         {std::tuple{Value::table({}), Source::shared, 4},
          std::tuple{Value::table({{"use_bottleneck_attention", true},
                                   {"num_feedforward_networks", 1},
                                   {"hidden_dims", 5}}),
                     Source::bottleneck, 1},
          std::tuple{Value::table(
                         {{"key_query_shared_bottleneck", false}, {"num_feedforward_networks", 2}}),
                     Source::input, 2}}) {
      const Block layer(backend, fields);
      const std::vector<float> x = random_values(2 * 5 * kDims, 3);
      std::vector<double> want;
      for (const Rows& rows : sequences(x, 5, kDims)) {
        for (const double v : flattened({reference(rows, layer, source, networks)})) {
          want.push_back(v);
        }
      }
      INFO(backend << " " << networks);
      const Tensor in = layer.tensor(x, {2, 5, kDims});
      CHECK(largest_error(layer.fprop(in).to_host<float>(), want) < 1e-4);
      Value smooth = fields;  // differences do not fit at the kink of relu
      smooth.set("activation", "nn/Tanh");
      const Block other(backend, smooth);
      CHECK(trivet::testing::check_layer_gradients(
                other.layer(), other.store(),
                other.tensor(random_values(3 * kDims, 4), {1, 3, kDims})) == "");
    }
  }
}

TEST_CASE("positions of MobileBERT's block see their own segment only", "[nn]") {
  const Block layer("tiny/Backend", Value::table({}));
  std::vector<float> x = random_values(5 * kDims, 3);
  FpropContext context;
  context.segment_ids =
      Tensor::from<std::int32_t>(layer.device(), std::vector<std::int32_t>{1, 1, 2, 2, 0}, {1, 5});
  context.paddings = layer.tensor({0, 0, 0, 0, 1}, {1, 5});
  const auto values = [&] {
    return layer.layer().fprop(layer.tensor(x, {1, 5, kDims}), context).to_host<float>();
  };
  const std::vector<float> before = values();
  for (std::size_t i = 2 * kDims; i < x.size(); ++i) x[i] += 1;  // the second segment and padding
  const std::vector<float> after = values();
  CHECK(std::equal(before.begin(), before.begin() + 2 * kDims, after.begin()));
  CHECK(before[2 * kDims] != after[2 * kDims]);
}

TEST_CASE("MobileBERT's block has other norms, and reports wrong sizes", "[nn]") {
  const Block layer("tiny/Backend", Value::table({{"norm_tpl", "nn/LayerNorm"}, {"dropout", 0.5}}));
  const Tensor x = layer.tensor(random_values(3 * kDims, 4), {1, 3, kDims});
  CHECK(layer.fprop(x).to_host<float>() != layer.fprop(x, true).to_host<float>());
  CHECK_THROWS_WITH(layer.fprop(Tensor::zeros(layer.device(), {1, 3, 5})),
                    Contains("'layer': expected [B, T, 6]"));
  CHECK_THROWS_WITH(
      LayerFixture("tiny/Backend",
                   {"nn/BottleneckBlock",
                    Value::table({{"input_dims", 6}, {"num_heads", 3}, {"bottleneck_dims", 4}})}),
      Contains("bottleneck_dims") && Contains("which num_heads = 3 does not divide"));
  const Block none("tiny/Backend", Value::table({{"norm_tpl", "none"}}));
  CHECK_NOTHROW(none.fprop(none.tensor(random_values(3 * kDims, 4), {1, 3, kDims})));
}

}  // namespace bottleneck_block_test
