// SPDX-License-Identifier: Apache-2.0
// Repeat and StackedTransformer against layers one by one, and templates that they complete.
#include <catch2/catch.hpp>

#include "nn/attention/multi_head_attention.h"
#include "nn/attention/transformer_block.h"
#include "nn/norm/layer_norm.h"
#include "plugins/training_step.h"
#include "support/plugins.h"
#include "trivet/error.h"

namespace nn_stack_test {
namespace {

using Catch::Contains;
using trivet::Value;
using trivet::test::check_equal;
using trivet::test::LayerFixture;
using trivet::test::made;
using trivet::test::random_values;
using trivet::test::Step;
using trivet::test::step_of;
using trivet::test::with;
namespace nn = trivet::nn;

constexpr std::int64_t kDims = 8;

Value block(std::initializer_list<std::pair<std::string_view, Value>> more) {
  Value config =
      with("nn/TransformerBlock", {{"input_dims", kDims}, {"num_heads", 2}, {"causal", true}});
  for (const auto& [name, value] : more) config.set(name, value);
  return config;
}

}  // namespace

TEST_CASE("Repeat and StackedTransformer equal their layers in sequence") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const Value layers = Value::array({block({}), block({}), block({})});
  const LayerFixture unrolled = made(backend, with("nn/Sequential", {{"layers", layers}}));
  const auto step = [](const LayerFixture& fixture) {
    return step_of(fixture.layer(), fixture.store(),
                   fixture.tensor(random_values(2 * 3 * kDims, 5), {2, 3, kDims}));
  };
  const Step want = step(unrolled);
  const std::pair<Value, std::string> stacks[] = {
      {with("nn/Repeat", {{"sub", block({})}, {"x_times", 3}}), "sub_"},
      {with("nn/StackedTransformer",
            {{"num_layers", 3}, {"transformer_layer_params_tpl", block({})}}),
       "layer_"}};
  for (const auto& stack : stacks) {
    const LayerFixture fixture = made(backend, stack.first);
    REQUIRE(fixture.store().parameters().size() == unrolled.store().parameters().size());
    for (const auto& parameter : unrolled.store().parameters()) {
      const std::string below = parameter->path().substr(std::string("layer/layer_").size());
      fixture.parameter(stack.second + below)
          .assign(fixture.tensor(parameter->value().to_host<float>(), parameter->shape()));
    }
    check_equal(step(fixture), want);
  }
}

TEST_CASE("a StackedTransformer passes its dropout on") {
  // The same layer under the same path drops the same elements.
  const auto in_training = [](const Value& stack) {
    const LayerFixture fixture = made("tiny/Backend", stack);
    return fixture.fprop(fixture.tensor(random_values(3 * kDims, 5), {1, 3, kDims}), true)
        .to_host<float>();
  };
  const auto passed_on = [&](const Value& layer) {
    return in_training(
        with("nn/StackedTransformer",
             {{"num_layers", 1}, {"transformer_layer_params_tpl", layer}, {"dropout_prob", 0.5}}));
  };
  const auto alone = [&](const Value& layer) {
    return in_training(with("nn/Sequential", {{"layers", Value::array({layer})}}));
  };
  CHECK(passed_on(block({})) ==
        alone(block({{"atten_dropout", 0.5}, {"residual_dropout", 0.5}, {"relu_dropout", 0.5}})));
  CHECK(passed_on(block({{"residual_dropout", 0.0}, {"relu_dropout", 0.25}})) ==
        alone(block({{"atten_dropout", 0.5}, {"residual_dropout", 0.0}, {"relu_dropout", 0.25}})));
  CHECK(passed_on(block({{"dropout", 0.25}})) == alone(block({{"dropout", 0.25}})));
  CHECK(passed_on(block({})) != alone(block({})));
}

TEST_CASE("templates are completed also where all their defaults are written out") {
  const auto written = [](const char* type, Value fields) {
    fields.set("type", type);
    return fields;
  };
  nn::TransformerBlockConfig config;
  config.input_dims = kDims;
  config.num_heads = 2;
  config.num_kv_heads = 1;
  config.causal = true;
  config.has_bias = false;
  config.init = {trivet::Init::normal, 0.5};
  Value full = trivet::encode(config);
  full.set("attention_tpl",
           written("nn/MultiHeadAttention", trivet::encode(nn::MultiHeadAttentionConfig{})));
  full.set("norm_tpl", written("nn/LayerNorm", trivet::encode(nn::LayerNormConfig{})));
  const Value plain = block({{"num_kv_heads", 1},
                             {"has_bias", false},
                             {"init", Value::table({{"method", "normal"}, {"scale", 0.5}})}});
  const auto run = [](const Value& layer) {
    const LayerFixture fixture =
        made("tiny/Backend", with("nn/StackedTransformer", {{"num_layers", 2},
                                                            {"transformer_layer_params_tpl", layer},
                                                            {"dropout_prob", 0.5},
                                                            {"moe_layers", Value::array({1})},
                                                            {"moe_layer_tpl", "nn/FeedForward"}}));
    return step_of(fixture.layer(), fixture.store(),
                   fixture.tensor(random_values(2 * 3 * kDims, 5), {2, 3, kDims}));
  };
  check_equal(run(written("nn/TransformerBlock", full)), run(plain));
}

TEST_CASE("StackedTransformer reports mismatched inputs") {
  const auto make = [](std::initializer_list<std::pair<std::string_view, Value>> more) {
    Value config = with("nn/StackedTransformer",
                        {{"num_layers", 2}, {"transformer_layer_params_tpl", block({})}});
    for (const auto& [name, value] : more) config.set(name, value);
    return made("tiny/Backend", std::move(config));
  };
  CHECK_THROWS_WITH(make({{"moe_layers", Value::array({1})}}),
                    Contains("moe_layer_tpl") && Contains("is not set"));
  CHECK_THROWS_WITH(make({{"moe_layers", Value::array({2})}, {"moe_layer_tpl", "nn/FeedForward"}}),
                    Contains("has 2, but the last of the 2 blocks is 1"));
  CHECK_THROWS_WITH(make({{"moe_layer_tpl", "nn/FeedForward"}}),
                    Contains("moe_layer_tpl: is not used, as moe_layers lists no blocks"));
  CHECK_THROWS_WITH(
      make({{"moe_layers", Value::array({1, 0, 1})}, {"moe_layer_tpl", "nn/FeedForward"}}),
      Contains("moe_layers: has 1 twice"));
  CHECK_THROWS_WITH(make({{"attention_layers", Value::array({0, 0})}}),
                    Contains("attention_layers: has 0 twice"));
  CHECK_THROWS_WITH(make({{"transformer_layer_params_tpl", "none"}}), Contains("is \"none\""));
  const LayerFixture mixed =
      make({{"moe_layers", Value::array({1})}, {"moe_layer_tpl", "nn/FeedForward"}});
  CHECK(mixed.store().find("layer/layer_0/mlp_in/w") != nullptr);
  CHECK(mixed.store().find("layer/layer_1/feed_forward/in/w") != nullptr);
}

TEST_CASE("a block's fields that its feed-forward layer lacks are refused") {
  const auto make = [](const char* field, const Value& value) {
    const Value linear = with("nn/Linear", {{"input_dims", kDims}, {"output_dims", kDims}});
    return made("tiny/Backend", block({{"ffn_tpl", linear}, {field, value}}));
  };
  CHECK_THROWS_WITH(make("hidden_dims", 16),
                    Contains("hidden_dims: is not used: nn/Linear has no such field"));
  CHECK_THROWS_WITH(make("relu_dropout", 0.1), Contains("relu_dropout: is not used"));
  // That of the block is around the layer, too.
  const LayerFixture dropped =
      made("tiny/Backend", block({{"ffn_tpl", "nn/Relu"}, {"dropout", 0.1}}));
  CHECK(dropped.store().find("layer/attention/query/w") != nullptr);
}

TEST_CASE("a block refuses the fields of an Mlp that it does not have") {
  const auto make = [](std::initializer_list<std::pair<std::string_view, Value>> fields) {
    Value config = block({{"ffn_tpl", "nn/FeedForward"}});
    for (const auto& [name, value] : fields) config.set(name, value);
    return made("tiny/Backend", std::move(config));
  };
  CHECK_THROWS_WITH(make({{"activation", "nn/Relu"}}),
                    Contains("activation: has no effect: ffn_tpl, nn/FeedForward, is instead"));
  CHECK_THROWS_WITH(make({{"activation", with("nn/Gelu", {{"approximate", false}})}}),
                    Contains("activation: has no effect"));
  CHECK_THROWS_WITH(make({{"activation", "none"}}), Contains("activation: has no effect"));
  CHECK_THROWS_WITH(make({{"use_gated_activation", true}}),
                    Contains("use_gated_activation: has no effect"));
  // As the config.toml of a run has them.
  const LayerFixture usual = make(
      {{"activation", with("nn/Gelu", {{"approximate", true}})}, {"use_gated_activation", false}});
  CHECK(usual.store().find("layer/feed_forward/in/w") != nullptr);
}

TEST_CASE("a stack's blocks without experts use the fields of the Mlp") {
  const auto make = [](Value moe_layers) {
    return made("tiny/Backend",
                with("nn/StackedTransformer",
                     {{"num_layers", 2},
                      {"transformer_layer_params_tpl",
                       block({{"activation", "nn/Silu"}, {"use_gated_activation", true}})},
                      {"moe_layers", std::move(moe_layers)},
                      {"moe_layer_tpl", "nn/FeedForward"}}));
  };
  const LayerFixture mixed = make(Value::array({1}));
  CHECK(mixed.store().find("layer/layer_0/mlp_gate/w") != nullptr);
  CHECK(mixed.store().find("layer/layer_1/feed_forward/gate/w") == nullptr);
  CHECK_THROWS_WITH(make(Value::array({0, 1})), Contains("activation: has no effect") &&
                                                    Contains("use_gated_activation: has no"));
}

}  // namespace nn_stack_test
