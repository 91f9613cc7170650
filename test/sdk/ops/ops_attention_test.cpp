// SPDX-License-Identifier: Apache-2.0
// Attention and rotary positions.
#include <cmath>

#include <catch2/catch.hpp>

#include "sdk/backend/backends.h"
#include "sdk/ops/op_case.h"
#include "trivet/ops.h"

namespace trivet::test {
namespace {

using Indices = std::span<const std::int64_t>;

struct AttentionCase {
  std::int64_t heads, kv_heads;
  ops::AttentionOptions options;
  bool segments = false;
  Shape bias{};  // of rank 4: one is added
  bool prefix = false;
};

Array attention_reference(std::span<const Array> in, const AttentionCase& c) {
  const Array &q = in[0], &k = in[1], &v = in[2];
  const std::int64_t keys = k.dim(1), depth = q.dim(3), group = c.heads / c.kv_heads;
  const ops::AttentionOptions& o = c.options;
  const double scale = o.scale == 0 ? 1 / std::sqrt(static_cast<double>(depth)) : double{o.scale};
  return filled(q.shape, [&](Indices i) {
    double total = 0, mixed = 0;
    const std::int64_t kv = i[2] / group, at = i[1] + o.q_offset;
    for (std::int64_t j = 0; j < keys; ++j) {
      const bool open = c.prefix && in[5].at({i[0], j}) == 1;
      const bool hidden = (o.causal && j > at && !open) || (o.window > 0 && at - j >= o.window) ||
                          (c.segments && in[3].at({i[0], i[1]}) != in[4].at({i[0], j}));
      if (hidden) continue;
      double score = 0;
      for (std::int64_t d = 0; d < depth; ++d) {
        score += scale * q.at({i[0], i[1], i[2], d}) * k.at({i[0], j, kv, d});
      }
      if (c.bias.rank() == 4) score += in[6].at({i[0], i[2], i[1], j});
      if (o.softcap > 0) score = o.softcap * std::tanh(score / o.softcap);
      total += std::exp(score);
      mixed += std::exp(score) * v.at({i[0], j, kv, i[3]});
    }
    if (o.extra_logit) total += std::exp(double{*o.extra_logit});
    return total == 0 ? 0 : mixed / total;
  });
}

void check_attention(const std::string& name, const AttentionCase& c) {
  const Shape kv{2, 5, c.kv_heads, 4};
  check({.name = name,
         .inputs = {{{2, 3, c.heads, 4}, -2, 2},
                    {kv, -2, 2},
                    {kv, -2, 2},
                    {{2, 3}, 0, 3, DType::i32},
                    {{2, 5}, 0, 2, DType::i32},
                    {{2, 5}, 0, 2, DType::i32},
                    {c.bias.rank() == 4 ? c.bias : Shape{1, 1, 1, 1}, -2, 2}},
         .op =
             [c](auto in) {
               ops::AttentionOptions options = c.options;
               if (c.segments) {
                 options.q_segments = in[3];
                 options.kv_segments = in[4];
               }
               if (c.prefix) options.kv_prefix = ops::cast(in[5], DType::f32);
               if (c.bias.rank() == 4) options.bias = in[6];
               return ops::attention(in[0], in[1], in[2], options);
             },
         .reference = [c](auto in) { return attention_reference(in, c); }});
}

}  // namespace

TEST_CASE("attention mixes the values that each query sees", "[ops]") {
  check_attention("plain", {2, 2, {}, false});
  check_attention("grouped heads", {4, 2, {.scale = 0.3F}, false});
  check_attention("causal", {2, 1, {.causal = true, .q_offset = 2}, false});
  check_attention("window", {2, 2, {.causal = true, .window = 2, .q_offset = 1}, false});
  check_attention("softcap", {2, 2, {.softcap = 1.5F}, false});
  check_attention("prefix", {2, 1, {.causal = true, .q_offset = 1}, true, {}, true});
  for (const Shape& bias : {Shape{2, 2, 3, 5}, Shape{1, 2, 1, 5}, Shape{1, 1, 3, 5}}) {
    check_attention("bias", {2, 1, {.causal = true, .softcap = 1.5F}, false, bias});
  }
  // Queries of segment 2 have no key: they return zeros and no gradient.
  check_attention("segments", {2, 1, {.causal = true, .q_offset = 2}, true});
  for (const float logit : {-1.0F, 0.0F, 6.0F}) {
    check_attention("extra logit", {2, 1, {.causal = true, .softcap = 1.5F, .extra_logit = logit}});
    check_attention("extra logit and segments",
                    {2, 2, {.q_offset = 2, .extra_logit = logit}, true});
  }
}

TEST_CASE("weights of attention are dropped by the bits of their position", "[ops]") {
  // With one-hot values the output equals the weights.
  const Shape shape{1, 4, 2, 4};
  const auto device = open_any();
  std::vector<float> values;
  for (int position = 0; position < 4; ++position) {
    for (int head = 0; head < 2; ++head) {
      for (int d = 0; d < 4; ++d) values.push_back(d == position ? 1 : 0);
    }
  }
  const Tensor q = Tensor::zeros(*device, shape), v = Tensor::from<float>(*device, values, shape);
  const RngKey key(9);
  const auto weights = ops::attention(q, q, v, {.dropout = 0.5F, .dropout_key = key});
  std::vector<std::uint32_t> bits(2 * 4 * 4);
  random_bits(key, 0, bits);
  const std::vector<float> got = weights.to_host<float>();
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t head = 0; head < 2; ++head) {
      for (std::size_t j = 0; j < 4; ++j) {
        const float want = bits[(head * 4 + i) * 4 + j] >= 0x80000000u ? 0.5F : 0.0F;
        CHECK(got[(i * 2 + head) * 4 + j] == Approx(want));
      }
    }
  }
}

TEST_CASE("attention reports mismatched queries and keys", "[ops]") {
  const auto device = open_any();
  const Tensor q = Tensor::zeros(*device, {2, 3, 2, 4}), k = Tensor::zeros(*device, {2, 5, 2, 4});
  CHECK_THROWS_WITH(ops::attention(q, k, k, {.bias = Tensor::zeros(*device, {2, 2, 2, 5})}),
                    Catch::Contains("expected a bias for [2, 2, 3, 5]"));
  CHECK_THROWS_WITH(ops::attention(q, k, k, {.kv_prefix = Tensor::zeros(*device, {2, 3})}),
                    Catch::Contains("expected kv_prefix [B, Tkv]"));
}

TEST_CASE("rope turns pairs of features by their position", "[ops]") {
  for (const std::int64_t rotary : {0, 4}) {
    const std::int64_t turned = rotary == 0 ? 6 : rotary, half = turned / 2;
    check({.name = "rope",
           .inputs = {{{2, 3, 2, 6}}, {{2, 3}, 0, 50, DType::i32}},
           .op = [=](auto in) { return ops::rope(in[0], in[1], 100, rotary); },
           .reference =
               [=](auto in) {
                 return filled({2, 3, 2, 6}, [&](Indices i) {
                   if (i[3] >= turned) return in[0].at(i);
                   const std::int64_t pair = i[3] % half;
                   const double angle =
                       in[1].at({i[0], i[1]}) * std::pow(100.0, -2.0 * static_cast<double>(pair) /
                                                                    static_cast<double>(turned));
                   const double a = in[0].at({i[0], i[1], i[2], pair});
                   const double b = in[0].at({i[0], i[1], i[2], pair + half});
                   return i[3] < half ? a * std::cos(angle) - b * std::sin(angle)
                                      : b * std::cos(angle) + a * std::sin(angle);
                 });
               },
           // Angles of up to 50 carry the rounding of an f32 of that size.
           .tolerance = 1e-4});
  }
}

}  // namespace trivet::test
