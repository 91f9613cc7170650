// SPDX-License-Identifier: Apache-2.0
// Linear, FeedForward and blocks whose weights are split over mdl.
#include <catch2/catch.hpp>

#include "plugins/nn/split/splits.h"
#include "support/plugins.h"
#include "trivet/error.h"
#include "trivet/ops.h"
#include "trivet/testing/layer_check.h"

namespace nn_split_test {
namespace {

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;

const Value kColumns = Value::table({{"wt", Value::array({"data", "mdl"})}});
const Value kRows = Value::table({{"wt", Value::array({"mdl", "data"})}});

ConfigOf<Layer> linear(const Value& mapping, std::int64_t in = 12, std::int64_t out = 12) {
  return {"nn/Linear",
          Value::table(
              {{"input_dims", in}, {"output_dims", out}, {"weight_split_dims_mapping", mapping}})};
}

Value ffn_mapping(const char* axis = "mdl") {
  return Value::table(
      {{"ffn0", Value::array({"data", axis})}, {"ffn1", Value::array({axis, "data"})}});
}

ConfigOf<Layer> feed_forward(const Value& mapping = ffn_mapping()) {
  return {"nn/FeedForward",
          Value::table(
              {{"input_dims", 6}, {"hidden_dims", 12}, {"weight_split_dims_mapping", mapping}})};
}

}  // namespace

TEST_CASE("a Linear in columns or rows computes what the whole one does", "[slow]") {
  const std::string backend = GENERATE(from_range(backends()));
  for (const Value& mapping : {kColumns, kRows}) {
    const ConfigOf<Layer> plain = linear(mapping);
    const SplitCase cases[] = {
        {"Linear", plain, {2, 3, 12}},
        {"no bias", with_field(plain, "has_bias", false), {5, 12}},
        {"a plain activation", with_field(plain, "activation", "nn/Gelu"), {5, 12}},
        {"an activation that is no part of a product",
         with_field(plain, "activation", "nn/Softplus"),
         {5, 12}},
        {"LoRA",
         with_field(with_field(plain, "lora", Value::table({{"rank", 2}})), "activation",
                    "nn/Silu"),
         {5, 12}},
        {"made weights",
         with_field(plain, "parametrization", Value::table({{"type", "nn/WeightNormL2"}})),
         {5, 12}},
        {"quantized inputs",
         with_field(plain, "input_quantization",
                    Value::table({{"type", "nn/ActivationQuantization"}})),
         {5, 12}},
        {"integers",
         with_field(with_field(plain, "input_quantization",
                               Value::table({{"type", "nn/ActivationQuantization"}})),
                    "parametrization", Value::table({{"type", "nn/FakeQuantization"}})),
         {5, 12}},
    };
    for (const SplitCase& layer : cases) check_split(layer, backend, {2, 3, 4, 6});
  }
}

TEST_CASE("the variables of a split layer are whole, with the values of one device") {
  const LayerFixture whole("tiny/Backend", linear(kColumns), 1);
  const LayerFixture split("tiny/Backend", linear(kColumns), 4);
  CHECK(split.values("w") == whole.values("w"));
  CHECK(split.parameter("w").shape() == Shape{12, 12});
  CHECK(split.parameter("w").blocks() == 4);
  CHECK(whole.parameter("w").blocks() == 1);
  // Other axes than mdl split nothing.
  const Value other = Value::table({{"wt", Value::array({"data", "replica"})}});
  CHECK(LayerFixture("tiny/Backend", linear(other), 4).parameter("w").blocks() == 1);
}

TEST_CASE("gradients of split layers match central differences") {
  const std::string backend = GENERATE(from_range(backends()));
  for (const std::int64_t mdl : {2, 3}) {
    for (const Value& mapping : {kColumns, kRows}) {
      const LayerFixture fixture(backend,
                                 with_field(linear(mapping, 6, 6), "activation", "nn/Tanh"), mdl);
      CHECK(testing::check_layer_gradients(fixture.layer(), fixture.store(),
                                           fixture.tensor(random_values(18, 3), {3, 6})) == "");
    }
    const LayerFixture fixture(
        backend,
        with_field(with_field(feed_forward(), "use_gated_activation", true), "relu_dropout", 0.25),
        mdl);
    testing::LayerCheckOptions options;
    options.train = true;
    CHECK(testing::check_layer_gradients(fixture.layer(), fixture.store(),
                                         fixture.tensor(random_values(18, 3), {3, 6}),
                                         options) == "");
  }
}

TEST_CASE("a feed-forward layer in blocks computes what the whole one does") {
  const std::string backend = GENERATE(from_range(backends()));
  const ConfigOf<Layer> gated = with_field(feed_forward(), "use_gated_activation", true);
  const SplitCase cases[] = {
      {"FeedForward", feed_forward(), {2, 3, 6}},
      {"gated", gated, {2, 3, 6}},
      {"gated, no bias", with_field(gated, "has_bias", false), {5, 6}},
      {"an activation that is no part of a product",
       with_field(gated, "activation", "nn/SquaredRelu"),
       {5, 6}},
      {"LoRA", with_field(gated, "lora", Value::table({{"rank", 2}})), {5, 6}},
      {"quantized inputs",
       with_field(gated, "input_quantization",
                  Value::table({{"type", "nn/ActivationQuantization"}})),
       {5, 6}},
      {"the first products alone",
       feed_forward(Value::table({{"ffn0", Value::array({-1, "mdl"})}})),
       {5, 6}},
      {"the last product alone",
       feed_forward(Value::table({{"ffn1", Value::array({"mdl", -1})}})),
       {5, 6}},
      {"input_dims",
       feed_forward(Value::table(
           {{"ffn0", Value::array({"mdl", -1})}, {"ffn1", Value::array({-1, "mdl"})}})),
       {5, 6}},
      {"an index",
       feed_forward(Value::table({{"ffn0", Value::array({1, 2})}, {"ffn1", Value::array({2, 1})}})),
       {5, 6}},
  };
  for (const SplitCase& layer : cases) check_split(layer, backend, {2, 3, 6});
}

TEST_CASE("a block of hidden features has a dropout of its own") {
  constexpr float kRate = 0.5F;
  const ConfigOf<Layer> config = with_field(feed_forward(), "relu_dropout", kRate);
  const LayerFixture fixture("tiny/Backend", config, 2);
  const auto of = [&](const char* path) { return fixture.parameter(path).value(); };
  const Tensor x = fixture.tensor(random_values(4 * 6, 3), {4, 6});
  const RngKey step(11);  // of LayerFixture::fprop
  Tensor want = of("out/b");
  for (const std::uint64_t block : {0, 1}) {
    const auto first = static_cast<std::int64_t>(6 * block);
    const Tensor h =
        ops::linear(x, ops::slice(of("in/w"), 1, first, first + 6),
                    ops::slice(of("in/b"), 0, first, first + 6), Activation::gelu_tanh);
    const RngKey key = step.fold("mdl").fold(block).fold("layer/dropout").fold("dropout");
    want = ops::add(
        ops::linear(ops::dropout(h, kRate, key), ops::slice(of("out/w"), 0, first, first + 6)),
        want);
  }
  CHECK(largest_error(fixture.fprop(x, true).to_host<float>(), want.to_host<float>()) < 1e-6);
}

TEST_CASE("a block hands its mapping to its attention and Mlp, or to templates that say nothing") {
  Value mapping = ffn_mapping();
  mapping.set("proj", Value::array({"data", "mdl", -1}));
  const ConfigOf<Layer> block("nn/TransformerBlock",
                              Value::table({{"input_dims", 8},
                                            {"num_heads", 2},
                                            {"causal", true},
                                            {"weight_split_dims_mapping", mapping}}));
  const std::string backend = GENERATE(from_range(backends()));
  check_split({"TransformerBlock", block, {2, 3, 8}}, backend, {2});
  const auto blocks_of = [&](const ConfigOf<Layer>& config, const char* path) {
    return LayerFixture(backend, config, 2).parameter(path).blocks();
  };
  for (const char* path : {"attention/query/w", "attention/key/w", "attention/value/w",
                           "attention/output/w", "mlp_in/w", "mlp_out/w"}) {
    CHECK(blocks_of(block, path) == 2);
  }
  const ConfigOf<Layer> with_template = with_field(block, "ffn_tpl", "nn/FeedForward");
  CHECK(blocks_of(with_template, "feed_forward/in/w") == 2);
  // A template's own word counts, and so does that of a mapping with other members.
  const Value own = Value::table(
      {{"type", "nn/FeedForward"},
       {"weight_split_dims_mapping", Value::table({{"ffn0", Value::array({-1, -1})}})}});
  const ConfigOf<Layer> with_own = with_field(block, "ffn_tpl", own);
  CHECK(blocks_of(with_own, "feed_forward/in/w") == 1);
  CHECK(blocks_of(with_own, "feed_forward/out/w") == 2);
  const Value product =
      Value::table({{"type", "nn/Linear"}, {"input_dims", 8}, {"output_dims", 8}});
  CHECK(blocks_of(with_field(block, "ffn_tpl", product), "feed_forward/w") == 1);
  const Value experts = Value::table({{"type", "nn/MoeFeedForward"}, {"num_experts", 2}});
  CHECK(blocks_of(with_field(block, "ffn_tpl", experts), "attention/query/w") == 2);
}

TEST_CASE("rematerialized blocks have the same bits, split or not") {
  Value mapping = ffn_mapping();
  mapping.set("proj", Value::array({"data", "mdl", -1}));
  const Value block = Value::table({{"type", "nn/TransformerBlock"},
                                    {"input_dims", 8},
                                    {"num_heads", 2},
                                    {"dropout", 0.25},
                                    {"causal", true},
                                    {"weight_split_dims_mapping", mapping}});
  const SplitCase stack{
      "StackedTransformer",
      {"nn/StackedTransformer",
       Value::table({{"num_layers", 2}, {"transformer_layer_params_tpl", block}})},
      {2, 3, 8},
      {},
      true};
  const Computed kept = compute(stack, "tiny/Backend", 2);
  for (const char* policy : {"save_nothing", "save_qkv_out_proj", "save_dot_only"}) {
    INFO(policy);
    SplitCase again = stack;
    again.config = with_field(stack.config, "checkpoint_policy", policy);
    const Computed computed = compute(again, "tiny/Backend", 2);
    CHECK(computed.y == kept.y);
    CHECK(computed.gradients == kept.gradients);
  }
}

TEST_CASE("sizes that the devices do not divide are refused, unless they may stay whole") {
  const auto make = [](const ConfigOf<Layer>& config, std::int64_t mdl) {
    return LayerFixture("tiny/Backend", config, mdl);
  };
  CHECK_THROWS_WITH(make(linear(kColumns, 12, 10), 4),
                    Contains("'layer': weight_split_dims_mapping.wt splits dimension 1 of [12, 10] "
                             "over the 4 devices along mdl, which do not divide it") &&
                        Contains("\"mdl?\" in the mapping leaves whole what does not divide"));
  CHECK_THROWS_WITH(make(linear(kRows, 10, 12), 4), Contains("dimension 0 of [10, 12]"));
  CHECK_THROWS_WITH(make(feed_forward(), 5),
                    Contains("weight_split_dims_mapping.ffn0 splits dimension 1 of [6, 12]"));
  CHECK_THROWS_AS(make(feed_forward(), 5), ConfigError);
  CHECK(make(feed_forward(ffn_mapping("mdl?")), 5).parameter("in/w").blocks() == 1);
  CHECK(make(feed_forward(ffn_mapping("mdl?")), 4).parameter("in/w").blocks() == 4);
  CHECK_THROWS_WITH(make(linear(Value::table({{"wt", Value::array({"mdl"})}})), 1),
                    Contains("weight_split_dims_mapping.wt: has 1 entries for 2 dimensions"));
}

}  // namespace nn_split_test
