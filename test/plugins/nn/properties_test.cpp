// SPDX-License-Identifier: Apache-2.0
// Properties of every stack of a language model: later positions do not affect earlier ones,
// padding has no effect, and packed rows equal separate ones.
#include <catch2/catch.hpp>

#include "support/layer_fixture.h"
#include "support/plugins.h"
#include "trivet/ops.h"

namespace nn_properties_test {
namespace {

using trivet::FpropContext;
using trivet::Tensor;
using trivet::Value;
using trivet::test::largest_error;
using trivet::test::LayerFixture;
using trivet::test::random_values;

constexpr std::int64_t kDims = 8, kLength = 6;
// The same products in f32, in another order.
constexpr double kTolerance = 1e-5;

Value attention(std::initializer_list<std::pair<std::string_view, Value>> fields) {
  Value config = Value::table(fields);
  config.set("type", "nn/MultiHeadAttention");
  return config;
}

Value block(const Value& attention,
            std::initializer_list<std::pair<std::string_view, Value>> more) {
  Value config = Value::table({{"type", "nn/TransformerBlock"},
                               {"input_dims", kDims},
                               {"num_heads", 2},
                               {"causal", true},
                               {"attention_tpl", attention}});
  for (const auto& [name, value] : more) config.set(name, value);
  return config;
}

// Two blocks after positions, in many forms.
std::vector<Value> stacks() {
  const Value plain = attention({}),
              rotary = attention({{"use_rotary_position_emb", true}, {"qk_norm", true}}),
              windowed = attention({{"window", 3}, {"atten_logit_cap", 5.0}}),
              biased = attention({{"relative_bias", "nn/RelativeBias"}, {"per_dim_scale", true}});
  const auto stack = [](const char* positions, const Value& layer) {
    Value layers = Value::array();
    if (*positions != 0) {
      layers.push_back(Value::table({{"type", positions}, {"input_dims", kDims}}));
    }
    layers.push_back(Value::table({{"type", "nn/StackedTransformer"},
                                   {"num_layers", 2},
                                   {"transformer_layer_params_tpl", layer}}));
    return Value::table({{"layers", layers}});
  };
  return {
      stack("nn/TrainablePositionalEmbedding", block(plain, {})),
      stack("nn/PositionalEmbedding", block(windowed, {{"norm_policy", "primer_hybrid"}})),
      stack("", block(rotary, {{"use_gated_activation", true},
                               {"activation", "nn/Silu"},
                               {"norm_tpl", "nn/RmsNorm"}})),
      stack("", block(biased, {{"norm_policy", "post_skip"}, {"num_kv_heads", 1}})),
  };
}

Tensor part(const Tensor& x, std::int64_t row, std::int64_t begin, std::int64_t end) {
  const Tensor one = trivet::ops::slice(x, 0, row, row + 1);
  return trivet::ops::contiguous(trivet::ops::slice(one, 1, begin, end));
}

class Stack : public LayerFixture {
 public:
  Stack(const std::string& backend, const Value& config)
      : LayerFixture(backend, {"nn/Sequential", config}) {}

  Tensor input(std::int64_t rows) const {
    return tensor(random_values(rows * kLength * kDims, 5), {rows, kLength, kDims});
  }
  Tensor run(const Tensor& x, FpropContext context = {}) const { return layer().fprop(x, context); }
  Tensor ids(const std::vector<std::int32_t>& values, std::int64_t rows) const {
    return Tensor::from<std::int32_t>(device(), values, {rows, kLength});
  }
};

double difference(const Tensor& got, const Tensor& want) {
  return largest_error(got.to_host<float>(), want.to_host<float>());
}

}  // namespace

TEST_CASE("a future position never changes a past one") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  for (const Value& config : stacks()) {
    INFO(backend << " " << trivet::to_toml(config));
    const Stack stack(backend, config);
    const Tensor x = stack.input(1), y = stack.run(x);
    for (std::int64_t t = 1; t < kLength; ++t) {
      std::vector<float> changed = x.to_host<float>();
      for (std::int64_t i = t * kDims; i < (t + 1) * kDims; ++i) {
        changed[static_cast<std::size_t>(i)] += 3;
      }
      const Tensor after = stack.run(stack.tensor(changed, x.shape()));
      CHECK(part(after, 0, 0, t).to_host<float>() == part(y, 0, 0, t).to_host<float>());
      CHECK(difference(part(after, 0, t, t + 1), part(y, 0, t, t + 1)) > 1e-3);
    }
  }
}

TEST_CASE("padding on either side has no effect") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  for (const Value& config : stacks()) {
    INFO(backend << " " << trivet::to_toml(config));
    const Stack stack(backend, config);
    const Tensor x = stack.input(3);
    FpropContext context;
    context.paddings =
        stack.tensor({0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, {3, kLength});
    context.positions = stack.ids({0, 1, 2, 3, 4, 5, 0, 0, 0, 1, 2, 3, 0, 1, 2, 3, 4, 5}, 3);
    const Tensor y = stack.run(x, context);
    CHECK(difference(part(y, 0, 0, 4), stack.run(part(x, 0, 0, 4))) < kTolerance);
    CHECK(difference(part(y, 1, 2, 6), stack.run(part(x, 1, 2, 6))) < kTolerance);
    CHECK(difference(part(y, 2, 0, 6), stack.run(part(x, 2, 0, 6))) < kTolerance);
  }
}

TEST_CASE("packed rows give the results of each alone") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  for (const Value& config : stacks()) {
    INFO(backend << " " << trivet::to_toml(config));
    const Stack stack(backend, config);
    const Tensor x = stack.input(2);
    FpropContext context;
    context.segment_ids = stack.ids({1, 1, 1, 2, 2, 0, 1, 2, 2, 2, 2, 3}, 2);
    context.positions = stack.ids({0, 1, 2, 0, 1, 0, 0, 0, 1, 2, 3, 0}, 2);
    context.paddings = stack.tensor({0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0}, {2, kLength});
    const Tensor y = stack.run(x, context);
    const std::int64_t parts[][3] = {{0, 0, 3}, {0, 3, 5}, {1, 0, 1}, {1, 1, 5}, {1, 5, 6}};
    for (const auto& [row, begin, end] : parts) {
      const Tensor alone = stack.run(part(x, row, begin, end));
      CHECK(difference(part(y, row, begin, end), alone) < kTolerance);
    }
  }
}

}  // namespace nn_properties_test
