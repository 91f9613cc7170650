// SPDX-License-Identifier: Apache-2.0
// Decoding with a cache matches fprop on the whole sequence.
#include "trivet/layer/extend_step.h"

#include <catch2/catch.hpp>

#include "plugins/training_step.h"
#include "support/layer_fixture.h"
#include "support/plugins.h"
#include "trivet/error.h"
#include "trivet/ops.h"

namespace nn_extend_step_test {
namespace {

using Catch::Contains;
using trivet::FpropContext;
using trivet::Tensor;
using trivet::Value;
using trivet::test::largest_error;
using trivet::test::LayerFixture;
using trivet::test::made;
using trivet::test::random_values;
using trivet::test::with;

constexpr std::int64_t kBatch = 3, kLength = 7, kDims = 8;
// The same products in f32, in another order.
constexpr double kTolerance = 1e-5;

Value attention(std::initializer_list<std::pair<std::string_view, Value>> more) {
  Value config =
      with("nn/MultiHeadAttention", {{"input_dims", kDims}, {"num_heads", 2}, {"causal", true}});
  for (const auto& [name, value] : more) config.set(name, value);
  return config;
}

Value block(std::initializer_list<std::pair<std::string_view, Value>> more) {
  Value config =
      with("nn/TransformerBlock", {{"input_dims", kDims}, {"num_heads", 2}, {"causal", true}});
  for (const auto& [name, value] : more) config.set(name, value);
  return config;
}

std::vector<Value> layers() {
  const Value rotary = attention({{"use_rotary_position_emb", true}, {"num_kv_heads", 1}});
  const Value linear = with("nn/Linear", {{"input_dims", kDims}, {"output_dims", kDims}});
  return {
      linear,
      with("nn/LayerNorm", {{"dim", kDims}}),
      with("nn/RmsNorm", {{"dim", kDims}}),
      with("nn/Silu", {}),
      with("nn/Dropout", {{"rate", 0.5}}),
      with("nn/FeedForward", {{"input_dims", kDims}}),
      with("nn/PositionalEmbedding", {{"input_dims", kDims}}),
      with("nn/TrainablePositionalEmbedding", {{"input_dims", kDims}}),
      attention({}),
      rotary,
      attention({{"window", 3}, {"atten_logit_cap", 2.0}, {"qk_norm", true}}),
      attention({{"per_dim_scale", true}}),
      attention({{"attention_extra_logit", 0.5}, {"window", 3}}),
      attention({{"dconv_qkv", true}, {"use_rotary_position_emb", true}, {"num_kv_heads", 1}}),
      attention({{"relative_bias", "nn/AlibiBias"}}),
      attention({{"rel_pos_emb_dim", 6}}),
      attention({{"rel_pos_emb_dim", 5},
                 {"per_dim_scale", true},
                 {"num_kv_heads", 1},
                 {"dconv_qkv", true},
                 {"dconv_kernel_size", 5},
                 {"window", 4},
                 {"relative_bias", "nn/AlibiBias"}}),
      attention({{"causal", false}, {"right_context", 0}, {"window", 2}}),
      with("nn/CausalDepthwiseConv1d", {{"dims", kDims}, {"kernel", 4}}),
      with("nn/CausalDepthwiseConv1d", {{"dims", kDims}, {"kernel", 1}}),
      with("nn/Ssm", {{"input_dims", kDims}, {"state_dims", 3}}),
      with("nn/S5", {{"input_dims", kDims}, {"state_dims", 3}}),
      with("nn/GroupNorm", {{"dim", kDims}, {"num_groups", 2}, {"cumulative", true}}),
      block({{"attention_tpl", with("nn/Ssm", {{"state_dims", 4}, {"hippo_type", "legs"}})}}),
      block({}),
      block({{"norm_policy", "primer_hybrid"}, {"attention_tpl", rotary}}),
      block({{"norm_policy", "post_skip"}, {"use_gated_activation", true}}),
      block({{"adapter_dims", 3}, {"lora", Value::table({{"rank", 2}, {"alpha", 4.0}})}}),
      with("nn/Residual", {{"sub", rotary}, {"shortcut", linear}, {"residual_weight", 0.5}}),
      with("nn/Repeat", {{"sub", block({})}, {"x_times", 2}}),
      with("nn/Sequential",
           {{"layers", Value::array({with("nn/PositionalEmbedding", {{"input_dims", kDims}}),
                                     "none", block({{"attention_tpl", rotary}}),
                                     with("nn/LayerNorm", {{"dim", kDims}})})}}),
  };
}

// Feeds the positions of x and of the context in chunks of `sizes`.
std::vector<float> in_chunks(const LayerFixture& fixture, const Tensor& x,
                             const FpropContext& whole, const std::vector<std::int64_t>& sizes) {
  const auto cache = trivet::make_cache(fixture.layer(), "layer", x.dim(0), x.dim(1));
  std::vector<Tensor> parts;
  std::int64_t begin = 0;
  for (const std::int64_t size : sizes) {
    const auto part = [&](const Tensor& all) {
      return all.defined() ? trivet::ops::slice(all, 1, begin, begin + size) : Tensor();
    };
    FpropContext context = whole;
    context.positions = part(whole.positions);
    context.segment_ids = part(whole.segment_ids);
    context.paddings = part(whole.paddings);
    context.inputs_indicator = part(whole.inputs_indicator);
    parts.push_back(trivet::extend_step(fixture.layer(), part(x), cache.get(), context));
    begin += size;
  }
  return trivet::ops::concat(parts, 1).to_host<float>();
}

const std::vector<std::vector<std::int64_t>> kChunks{
    {7}, {1, 1, 1, 1, 1, 1, 1}, {3, 1, 2, 1}, {1, 6}, {5, 0, 2}};

template <class T>
Tensor rows(const LayerFixture& fixture, const std::vector<T>& values) {
  return Tensor::from<T>(fixture.device(), values, {kBatch, kLength});
}

}  // namespace

TEST_CASE("extend_step matches fprop, in chunks of any sizes") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  for (const Value& config : layers()) {
    INFO(backend << " " << trivet::to_toml(config));
    const LayerFixture fixture = made(backend, config);
    const Tensor x =
        fixture.tensor(random_values(kBatch * kLength * kDims, 5), {kBatch, kLength, kDims});
    const std::vector<float> want = fixture.fprop(x).to_host<float>();
    for (const auto& sizes : kChunks) {
      CHECK(largest_error(in_chunks(fixture, x, {}, sizes), want) < kTolerance);
    }
  }
}

TEST_CASE("extend_step knows positions, segments, paddings and prefixes as fprop does") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const Value attention_tpl =
      GENERATE(with("nn/MultiHeadAttention", {}),
               with("nn/MultiHeadAttention", {{"use_rotary_position_emb", true}}),
               with("nn/MultiHeadAttention", {{"dconv_qkv", true}, {"attention_extra_logit", 0.0}}),
               with("nn/MultiHeadAttention", {{"relative_bias", "nn/AlibiBias"}}),
               with("nn/MultiHeadAttention", {{"rel_pos_emb_dim", 6}}));
  INFO(backend << " " << trivet::to_toml(attention_tpl));
  const LayerFixture fixture = made(backend, block({{"attention_tpl", attention_tpl}}));
  const Tensor x =
      fixture.tensor(random_values(kBatch * kLength * kDims, 5), {kBatch, kLength, kDims});
  const auto check = [&](FpropContext context, const std::vector<std::int64_t>& sizes) {
    const std::vector<float> want = fixture.layer().fprop(x, context).to_host<float>();
    CHECK(largest_error(in_chunks(fixture, x, context, sizes), want) < kTolerance);
  };
  FpropContext packed;
  packed.segment_ids =
      rows<std::int32_t>(fixture, {1, 1, 1, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 3, 3, 3, 3});
  packed.positions =
      rows<std::int32_t>(fixture, {0, 1, 2, 0, 1, 2, 3, 0, 1, 2, 3, 4, 5, 6, 0, 0, 1, 0, 1, 2, 3});
  for (const auto& sizes : kChunks) check(packed, sizes);
  packed.paddings =
      rows<float>(fixture, {0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 1});
  for (const auto& sizes : kChunks) check(packed, sizes);
  FpropContext prefixed;
  prefixed.inputs_indicator =
      rows<float>(fixture, {1, 1, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  check(prefixed, {3, 1, 1, 1, 1});
  check(prefixed, {4, 3});
}

TEST_CASE("rows with prompts of different lengths give the results of each alone") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const Value second = GENERATE(
      block({}), block({{"attention_tpl", with("nn/MultiHeadAttention", {{"dconv_qkv", true}})}}),
      block(
          {{"attention_tpl", with("nn/MultiHeadAttention",
                                  {{"rel_pos_emb_dim", 4}, {"relative_bias", "nn/AlibiBias"}})}}));
  const LayerFixture fixture =
      made(backend,
           with("nn/Sequential", {{"layers", Value::array({with("nn/TrainablePositionalEmbedding",
                                                                {{"input_dims", kDims}}),
                                                           block({}), second})}}));
  const std::vector<float> values = random_values(2 * 6 * kDims, 5);
  const Tensor x = fixture.tensor(values, {2, 6, kDims});
  // Row 1 has two positions of padding at the left of its prompt of two; then two more positions
  // each.
  const auto cache = trivet::make_cache(fixture.layer(), "layer", 2, 6);
  FpropContext context;
  context.paddings = fixture.tensor({0, 0, 0, 0, 1, 1, 0, 0}, {2, 4});
  const std::vector<std::int32_t> at{0, 1, 2, 3, 0, 0, 0, 1};
  context.positions = Tensor::from<std::int32_t>(fixture.device(), at, {2, 4});
  std::vector<Tensor> parts{
      trivet::extend_step(fixture.layer(), trivet::ops::slice(x, 1, 0, 4), cache.get(), context)};
  for (std::int32_t t = 4; t < 6; ++t) {
    FpropContext next;
    const std::vector<std::int32_t> position{t, t - 2};
    next.positions = Tensor::from<std::int32_t>(fixture.device(), position, {2, 1});
    parts.push_back(trivet::extend_step(fixture.layer(), trivet::ops::slice(x, 1, t, t + 1),
                                        cache.get(), next));
  }
  const Tensor y = trivet::ops::concat(parts, 1);
  for (std::int64_t row = 0; row < 2; ++row) {
    const std::int64_t first = row == 0 ? 0 : 2;
    const auto own = [&](const Tensor& all) {
      return trivet::ops::contiguous(
          trivet::ops::slice(trivet::ops::slice(all, 0, row, row + 1), 1, first, 6));
    };
    CHECK(largest_error(own(y).to_host<float>(), fixture.fprop(own(x)).to_host<float>()) <
          kTolerance);
  }
}

TEST_CASE("a cache's rows may be reordered, repeated and left out") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const LayerFixture fixture =
      made(backend, with("nn/Repeat", {{"sub", block({})}, {"x_times", 2}}));
  const Tensor x = fixture.tensor(random_values(2 * 3 * kDims, 5), {2, 3, kDims});
  const Tensor more = fixture.tensor(random_values(3 * 2 * kDims, 6), {3, 2, kDims});
  const auto cache = trivet::make_cache(fixture.layer(), "layer", 2, 5);
  FpropContext context;
  trivet::extend_step(fixture.layer(), x, cache.get(), context);
  const std::vector<std::int32_t> order{1, 0, 1};
  cache->reorder(order);
  const Tensor y = trivet::extend_step(fixture.layer(), more, cache.get(), context);
  std::vector<Tensor> chosen;
  for (const std::int32_t row : order) chosen.push_back(trivet::ops::slice(x, 0, row, row + 1));
  const std::vector<Tensor> both{trivet::ops::concat(chosen, 0), more};
  const Tensor want = trivet::ops::slice(fixture.fprop(trivet::ops::concat(both, 1)), 1, 3, 5);
  CHECK(largest_error(y.to_host<float>(), want.to_host<float>()) < kTolerance);
  const std::vector<std::int32_t> wrong{0, 3};
  CHECK_THROWS_WITH(cache->reorder(wrong), Contains("rows of a cache of 3") && Contains("row 3"));
}

TEST_CASE("rows that are appended to a cache give the results of each alone") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  std::vector<Value> configs = layers();
  configs.push_back(with("nn/Lstm", {{"input_dims", kDims}, {"output_dims", kDims}}));
  configs.push_back(
      with("nn/Conv1d",
           {{"input_dims", kDims}, {"output_dims", kDims}, {"kernel", 3}, {"causal", true}}));
  std::size_t checked = 0;
  for (const Value& config : configs) {
    INFO(backend << " " << trivet::to_toml(config));
    const LayerFixture fixture = made(backend, config);
    const auto first = trivet::make_cache(fixture.layer(), "layer", 2, 8);
    const auto second = trivet::make_cache(fixture.layer(), "layer", 1, 8);
    if (!first || !first->can_append_rows()) continue;
    ++checked;
    // Two rows of five positions, of which the second starts with two of padding, and one of two.
    const Tensor x = fixture.tensor(random_values(2 * 6 * kDims, 5), {2, 6, kDims});
    const Tensor z = fixture.tensor(random_values(3 * kDims, 6), {1, 3, kDims});
    FpropContext context;
    context.paddings = fixture.tensor({0, 0, 0, 0, 0, 1, 1, 0, 0, 0}, {2, 5});
    const std::vector<std::int32_t> at{0, 1, 2, 3, 4, 0, 0, 0, 1, 2};
    context.positions = Tensor::from<std::int32_t>(fixture.device(), at, {2, 5});
    trivet::extend_step(fixture.layer(), trivet::ops::slice(x, 1, 0, 5), first.get(), context);
    FpropContext own;
    trivet::extend_step(fixture.layer(), trivet::ops::slice(z, 1, 0, 2), second.get(), own);
    const auto same = [&](const std::vector<std::int32_t>& rows,
                          const std::vector<std::int32_t>& position) {
      first->reorder(rows);
      FpropContext next;
      next.positions = Tensor::from<std::int32_t>(fixture.device(), position,
                                                  {static_cast<std::int64_t>(position.size()), 1});
      const Tensor wholes[] = {trivet::ops::slice(x, 0, 0, 1),
                               trivet::ops::slice(trivet::ops::slice(x, 0, 1, 2), 1, 2, 6), z};
      std::vector<Tensor> last;
      std::vector<float> want;
      for (const std::int32_t row : rows) {
        const Tensor whole = trivet::ops::contiguous(wholes[row]);
        const std::int64_t end = whole.dim(1);
        last.push_back(trivet::ops::slice(whole, 1, end - 1, end));
        const std::vector<float> y =
            trivet::ops::slice(fixture.fprop(whole), 1, end - 1, end).to_host<float>();
        want.insert(want.end(), y.begin(), y.end());
      }
      const Tensor y =
          trivet::extend_step(fixture.layer(), trivet::ops::concat(last, 0), first.get(), next);
      CHECK(largest_error(y.to_host<float>(), want) < kTolerance);
    };
    if (checked % 2 == 0) {  // all three
      second->align(5);
      first->append_rows(*second);
      same({0, 1, 2}, {5, 3, 2});
    } else {  // the long one has left, so two positions are not needed any more
      first->reorder(std::vector<std::int32_t>{1, 1});
      first->align(3);
      second->align(3);
      first->append_rows(*second);
      first->reorder(std::vector<std::int32_t>{0, 0, 2});
      same({1, 2}, {3, 2});
    }
  }
  CHECK(checked > 15);
}

TEST_CASE("rows that a cache cannot take are errors") {
  const LayerFixture fixture = made("tiny/Backend", block({}));
  const auto cache = trivet::make_cache(fixture.layer(), "layer", 1, 4);
  FpropContext context;
  trivet::extend_step(fixture.layer(), Tensor::zeros(fixture.device(), {1, 2, kDims}), cache.get(),
                      context);
  const auto empty = trivet::make_cache(fixture.layer(), "layer", 1, 4);
  CHECK_THROWS_WITH(cache->append_rows(*empty), Contains("rows of 2 positions"));
  CHECK_THROWS_WITH(cache->align(5), Contains("at most 4 positions"));
  const LayerFixture cross = made("tiny/Backend", block({{"cross_attention", true}}));
  CHECK_FALSE(trivet::make_cache(cross.layer(), "layer", 1, 4)->can_append_rows());
}

TEST_CASE("cross-attention makes keys and values of the encoder's output once") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const LayerFixture fixture = made(backend, block({{"cross_attention", true}}));
  const Tensor x =
      fixture.tensor(random_values(kBatch * kLength * kDims, 5), {kBatch, kLength, kDims});
  FpropContext context;
  context.cross_inputs = fixture.tensor(random_values(kBatch * 4 * kDims, 6), {kBatch, 4, kDims});
  context.cross_paddings = fixture.tensor({0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 1, 1}, {kBatch, 4});
  const std::vector<float> want = fixture.layer().fprop(x, context).to_host<float>();
  for (const auto& sizes : kChunks) {
    CHECK(largest_error(in_chunks(fixture, x, context, sizes), want) < kTolerance);
  }
  const auto cache = trivet::make_cache(fixture.layer(), "layer", kBatch, kLength);
  trivet::extend_step(fixture.layer(), trivet::ops::slice(x, 1, 0, 3), cache.get(), context);
  const std::vector<std::int32_t> order{2, 0};
  cache->reorder(order);
  const Tensor rest = trivet::ops::slice(x, 1, 3, 4);
  const std::vector<Tensor> chosen{trivet::ops::slice(rest, 0, 2, 3),
                                   trivet::ops::slice(rest, 0, 0, 1)};
  FpropContext none;
  const Tensor y =
      trivet::extend_step(fixture.layer(), trivet::ops::concat(chosen, 0), cache.get(), none);
  const Tensor all = fixture.tensor(want, {kBatch, kLength, kDims});
  const Tensor wanted = trivet::ops::slice(all, 1, 3, 4);
  CHECK(largest_error(trivet::ops::slice(y, 0, 0, 1).to_host<float>(),
                      trivet::ops::slice(wanted, 0, 2, 3).to_host<float>()) < kTolerance);
}

TEST_CASE("layers that cannot decode with a cache, and full caches, are errors") {
  const LayerFixture pooled =
      made("tiny/Backend",
           with("nn/Sequential", {{"layers", Value::array({"nn/Relu", "nn/GlobalAvgPool2d"})}}));
  CHECK_THROWS_WITH(trivet::make_cache(pooled.layer(), "layer", 1, 2),
                    Contains("'layer/layer_1' cannot decode with a cache"));
  const LayerFixture both = made("tiny/Backend", block({{"causal", false}}));
  CHECK_THROWS_WITH(trivet::make_cache(both.layer(), "layer", 1, 2),
                    Contains("'layer/attention'") && Contains("causal = true"));
  const LayerFixture fixture = made("tiny/Backend", block({}));
  const auto cache = trivet::make_cache(fixture.layer(), "layer", 1, 2);
  FpropContext context;
  const Tensor x = Tensor::zeros(fixture.device(), {1, 3, kDims});
  CHECK_THROWS_WITH(
      trivet::extend_step(fixture.layer(), x, cache.get(), context),
      Contains("3 positions after 0 are more than the cache has room for, which is 2"));
  const Tensor rows = Tensor::zeros(fixture.device(), {2, 1, kDims});
  CHECK_THROWS_WITH(trivet::extend_step(fixture.layer(), rows, cache.get(), context),
                    Contains("positions of 1 rows for a cache [1, 2, 2, 4]"));
  const LayerFixture positions =
      made("tiny/Backend",
           with("nn/TrainablePositionalEmbedding", {{"input_dims", kDims}, {"max_seq_length", 4}}));
  const auto count = trivet::make_cache(positions.layer(), "layer", 1, 9);
  const Tensor own = Tensor::zeros(positions.device(), {1, 3, kDims});
  trivet::extend_step(positions.layer(), own, count.get(), context);
  CHECK_THROWS_WITH(trivet::extend_step(positions.layer(), own, count.get(), context),
                    Contains("6 positions, but max_seq_length is 4"));
}

}  // namespace nn_extend_step_test
