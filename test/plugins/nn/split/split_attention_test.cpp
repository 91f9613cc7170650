// SPDX-License-Identifier: Apache-2.0
// Attention whose heads are split over mdl.
#include <cmath>

#include <catch2/catch.hpp>

#include "plugins/nn/split/splits.h"
#include "support/plugins.h"
#include "trivet/error.h"
#include "trivet/layer/extend_step.h"
#include "trivet/ops.h"
#include "trivet/tape.h"
#include "trivet/testing/layer_check.h"

namespace nn_split_attention_test {
namespace {

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;

constexpr std::int64_t kDims = 16;

ConfigOf<Layer> attention(std::initializer_list<std::pair<std::string_view, Value>> more,
                          const char* axis = "mdl") {
  Value fields = Value::table(
      {{"input_dims", kDims},
       {"num_heads", 4},
       {"weight_split_dims_mapping", Value::table({{"proj", Value::array({"data", axis, -1})}})}});
  for (const auto& [name, value] : more) fields.set(name, value);
  return {"nn/MultiHeadAttention", std::move(fields)};
}

Tensor integers(Device& device, const std::vector<std::int32_t>& values) {
  return Tensor::from<std::int32_t>(device, values, {2, 5});
}

}  // namespace

TEST_CASE("attention by heads computes what the whole one does", "[slow]") {
  const std::string backend = GENERATE(from_range(backends()));
  const auto packed = [](FpropContext& context, Device& device) {
    context.segment_ids = integers(device, {1, 1, 1, 2, 2, 1, 1, 2, 2, 2});
    context.positions = integers(device, {0, 1, 2, 0, 1, 0, 1, 0, 1, 2});
  };
  const auto prefixed = [](FpropContext& context, Device& device) {
    context.inputs_indicator =
        ops::cast(integers(device, {1, 1, 0, 0, 0, 1, 1, 1, 0, 0}), DType::f32);
  };
  const auto crossed = [](FpropContext& context, Device& device) {
    context.cross_inputs = Tensor::from(
        device, std::span<const float>(random_values(2 * 3 * kDims, 8)), {2, 3, kDims});
  };
  const Shape x{2, 5, kDims};
  const SplitCase cases[] = {
      {"plain", attention({}), x},
      {"causal, rotary", attention({{"causal", true}, {"use_rotary_position_emb", true}}), x},
      {"packed", attention({{"causal", true}, {"use_rotary_position_emb", true}}), x, packed},
      {"prefix", attention({{"causal", true}}), x, prefixed},
      {"window, cap, no bias",
       attention({{"causal", true},
                  {"window", 2},
                  {"atten_logit_cap", 2.0},
                  {"attention_extra_logit", 0.5},
                  {"has_bias", false}}),
       x},
      {"scale of each feature", attention({{"per_dim_scale", true}}), x},
      {"norms of heads", attention({{"qk_norm", true}, {"use_rotary_position_emb", true}}), x},
      {"convolutions", attention({{"causal", true}, {"dconv_qkv", true}}), x},
      {"a bias of each head", attention({{"causal", true}, {"relative_bias", "nn/RelativeBias"}}),
       x},
      {"relative positions", attention({{"causal", true}, {"rel_pos_emb_dim", 6}}), x},
      {"cross", attention({{"cross_attention", true}}), x, crossed},
      {"LoRA", attention({{"lora", Value::table({{"rank", 2}})}}), x},
      {"heads of another depth", attention({{"dims_per_head", 6}}), x},
  };
  for (const SplitCase& layer : cases) check_split(layer, backend, {2, 4});
}

TEST_CASE("fewer kv heads than devices are shared, and their gradients summed", "[slow]") {
  const std::string backend = GENERATE(from_range(backends()));
  for (const std::int64_t kv_heads : {1, 2}) {
    const SplitCase cases[] = {
        {"plain", attention({{"num_kv_heads", kv_heads}}), {2, 5, kDims}},
        {"rotary, norms",
         attention({{"num_kv_heads", kv_heads},
                    {"causal", true},
                    {"use_rotary_position_emb", true},
                    {"qk_norm", true}}),
         {2, 5, kDims}},
    };
    for (const SplitCase& layer : cases) check_split(layer, backend, {2, 4});
  }
  const LayerFixture fixture(backend, attention({{"num_kv_heads", 2}, {"causal", true}}), 4);
  CHECK(fixture.parameter("query/w").blocks() == 4);
  CHECK(fixture.parameter("key/w").blocks() == 1);
  CHECK(LayerFixture(backend, attention({{"num_kv_heads", 2}}), 2).parameter("key/w").blocks() ==
        2);
  const Tensor x = fixture.tensor(random_values(2 * 3 * kDims, 21), {2, 3, kDims});
  CHECK(testing::check_layer_gradients(fixture.layer(), fixture.store(), x) == "");
}

TEST_CASE("each block of heads drops weights of its own") {
  LayerFixture fixture("tiny/Backend", attention({{"num_heads", 2}, {"atten_dropout", 0.5}}), 2);
  // Both heads are equal, and the output is their difference.
  for (const char* product : {"query", "key", "value"}) {
    std::vector<float> w = fixture.values(std::string(product) + "/w");
    for (std::size_t i = 0; i < w.size(); ++i) {
      if (i % kDims >= kDims / 2) w[i] = w[i - kDims / 2];
    }
    fixture.set(std::string(product) + "/w", w);
  }
  std::vector<float> out = fixture.values("output/w");
  for (std::size_t i = out.size() / 2; i < out.size(); ++i) out[i] = -out[i - out.size() / 2];
  fixture.set("output/w", out);
  const Tensor x = fixture.tensor(random_values(2 * 5 * kDims, 3), {2, 5, kDims});
  const std::vector<float> zeros(static_cast<std::size_t>(x.size()), 0);
  CHECK(largest_error(fixture.fprop(x).to_host<float>(), zeros) < 1e-6);
  CHECK(largest_error(fixture.fprop(x, true).to_host<float>(), zeros) > 0.01);
}

TEST_CASE("split attention decodes with a cache as it sees the whole sequence") {
  for (const std::int64_t kv_heads : {1, 4}) {
    const LayerFixture fixture(
        "tiny/Backend",
        attention(
            {{"causal", true}, {"use_rotary_position_emb", true}, {"num_kv_heads", kv_heads}}),
        4);
    const Tensor x = fixture.tensor(random_values(2 * 5 * kDims, 3), {2, 5, kDims});
    const std::vector<float> want = fixture.fprop(x).to_host<float>();
    const auto cache = make_cache(fixture.layer(), "layer", 2, 5);
    std::vector<Tensor> steps;
    for (std::int64_t at = 0; at < 5; ++at) {
      FpropContext context;
      steps.push_back(
          extend_step(fixture.layer(), ops::slice(x, 1, at, at + 1), cache.get(), context));
    }
    CHECK(largest_error(ops::concat(steps, 1).to_host<float>(), want) < 1e-5);
  }
}

TEST_CASE("heads that the devices do not divide are refused, unless they may stay whole") {
  const auto make = [](const ConfigOf<Layer>& config, std::int64_t mdl) {
    return LayerFixture("tiny/Backend", config, mdl);
  };
  CHECK_THROWS_WITH(make(attention({}), 3),
                    Contains("'layer': weight_split_dims_mapping.proj splits dimension 1 of "
                             "[16, 4, 4] over the 3 devices along mdl"));
  CHECK_THROWS_WITH(
      make(attention({{"num_heads", 12}, {"num_kv_heads", 3}, {"dims_per_head", 2}}), 2),
      Contains("splits num_kv_heads = 3 over the 2 devices along mdl"));
  CHECK_THROWS_AS(make(attention({}), 3), ConfigError);
  CHECK(make(attention({}, "mdl?"), 3).parameter("query/w").blocks() == 1);
  CHECK(make(attention({}, "mdl?"), 2).parameter("query/w").blocks() == 2);
  CHECK(make(attention({{"num_heads", 12}, {"num_kv_heads", 3}, {"dims_per_head", 2}}, "mdl?"), 2)
            .parameter("query/w")
            .blocks() == 1);
  const auto proj = [](Value list) {
    return attention({{"weight_split_dims_mapping", Value::table({{"proj", std::move(list)}})}});
  };
  CHECK_THROWS_WITH(make(proj(Value::array({"mdl", -1, -1})), 1),
                    Contains("weight_split_dims_mapping.proj: splits dimension 0 over mdl, and "
                             "attention splits its heads only"));
  CHECK_THROWS_WITH(make(proj(Value::array({"data", "mdl"})), 1),
                    Contains("proj: has 2 entries for 3 dimensions"));
}

}  // namespace nn_split_attention_test
