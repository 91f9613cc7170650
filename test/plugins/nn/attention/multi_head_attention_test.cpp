// SPDX-License-Identifier: Apache-2.0
// Extra logits, rows without a visible key, local windows and convolutions of attention, against
// the formulas of Praxis in double.
#include <cmath>

#include <catch2/catch.hpp>

#include "plugins/nn/attention/attention_fixture.h"
#include "support/plugins.h"
#include "trivet/error.h"
#include "trivet/layer/extend_step.h"

namespace nn_multi_head_attention_test {
namespace {

using Catch::Contains;
using trivet::FpropContext;
using trivet::Tensor;
using trivet::Value;
using trivet::test::affine;
using trivet::test::AttentionFixture;
using trivet::test::Heads;
using trivet::test::Row;
using trivet::test::Rows;

constexpr std::size_t kLength = AttentionFixture::kLength, kDims = AttentionFixture::kDims,
                      kHeads = AttentionFixture::kHeads;

// Praxis' CausalDepthwiseConv1D: tap k counts where the position is at least k.
Rows convolved(const Rows& x, const AttentionFixture& layer, const std::string& name,
               const std::vector<std::size_t>& positions, std::size_t kernel) {
  Rows y = x;
  for (std::size_t t = 0; t < x.size(); ++t) {
    std::fill(y[t].begin(), y[t].end(), 0);
    for (std::size_t k = 0; k < kernel && k <= positions[t] && k <= t; ++k) {
      const std::vector<float> w = layer.values(name + "/w_" + std::to_string(k));
      for (std::size_t d = 0; d < y[t].size(); ++d) {
        y[t][d] += x[t - k][d] * static_cast<double>(w[d]);
      }
    }
  }
  return y;
}

}  // namespace

TEST_CASE("an extra logit is one more term of the softmax's denominator") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  for (const double logit : {-2.0, 0.0, 3.0, 60.0}) {
    const AttentionFixture layer(
        backend, {{"attention_extra_logit", logit}, {"causal", true}, {"atten_logit_cap", 2.0}});
    Heads heads{kHeads, kHeads, [](std::size_t i, std::size_t j) { return j <= i; }};
    heads.scored = [](double score, std::size_t, std::size_t, std::size_t) {
      return 2 * std::tanh(score / 2);
    };
    heads.extra = std::exp(logit);
    layer.check(heads);
  }
}

TEST_CASE("a query that sees no key has weights of 0") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const Value none;
  for (const Value& extra : {none, Value(1.0)}) {
    const AttentionFixture layer(backend,
                                 {{"cross_attention", true}, {"attention_extra_logit", extra}});
    FpropContext context;
    context.cross_inputs =
        layer.tensor(trivet::test::random_values(2 * 3 * kDims, 4), {2, 3, kDims});
    context.cross_paddings = layer.tensor({1, 1, 1, 1, 1, 1}, {2, 3});
    const std::vector<float> bias = layer.values("output/b");
    // The bias of the output projection is left, as in Praxis.
    layer.check([&](const Rows& x) { return Rows(x.size(), Row(bias.begin(), bias.end())); },
                context);
  }
}

// The mask that Praxis documents for its LocalSelfAttention: "position i attends to tokens in the
// range [i - (left_context - 1), i + right_context]".
TEST_CASE("local attention sees left_context and right_context") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  for (const std::size_t left : {0U, 1U, 2U, 3U, 9U}) {
    for (const std::size_t right : {0U, 1U, 3U, 9U}) {
      INFO(backend << " " << left << " " << right);
      const auto in_range = [&](std::size_t i, std::size_t j) {
        return (left == 0 || i < j + left) && j <= i + right;
      };
      const AttentionFixture layer(backend, {{"window", left}, {"right_context", right}});
      layer.check({kHeads, kHeads, in_range});
      FpropContext packed;
      packed.segment_ids = layer.ids({1, 1, 1, 2, 2});
      const auto in_segment = [&](std::size_t i, std::size_t j) {
        return in_range(i, j) && (i < 3) == (j < 3);
      };
      layer.check({kHeads, kHeads, in_segment}, packed);
      const AttentionFixture composed(
          backend, {{"window", left}, {"right_context", right}, {"attention_extra_logit", 0.0}});
      Heads heads{kHeads, kHeads, in_range};
      heads.extra = 1;
      composed.check(heads);
    }
  }
  // The example of Praxis' _make_local_mask: 4 positions, left_context = 3, right_context = 0.
  const AttentionFixture layer(backend, {{"window", 3}, {"right_context", 0}});
  const bool seen[4][4] = {{1, 0, 0, 0}, {1, 1, 0, 0}, {1, 1, 1, 0}, {0, 1, 1, 1}};
  layer.check({kHeads, kHeads, [&](std::size_t i, std::size_t j) {
                 return i < 4 && j < 4 ? seen[i][j] : (i < j + 3 && j <= i);
               }});
}

TEST_CASE("dconv_qkv convolves queries, keys and values before the rotation") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  const std::size_t kernel = GENERATE(1, 3, 7), kv_heads = GENERATE(1, 2);
  INFO(backend << " " << kernel << " " << kv_heads);
  const AttentionFixture layer(backend, {{"dconv_qkv", true},
                                         {"dconv_kernel_size", kernel},
                                         {"num_kv_heads", kv_heads},
                                         {"causal", true}});
  const auto check = [&](const std::vector<std::size_t>& positions, const FpropContext& context,
                         const std::function<bool(std::size_t, std::size_t)>& sees) {
    layer.check(
        [&](const Rows& x) {
          const auto made = [&](const std::string& product, const std::string& convolution) {
            return convolved(affine(x, layer.values(product + "/w"), layer.values(product + "/b")),
                             layer, convolution, positions, kernel);
          };
          const Rows mixed =
              trivet::test::mixed_values(made("query", "dconv_q"), made("key", "dconv_k"),
                                         made("value", "dconv_v"), {kHeads, kv_heads, sees});
          return affine(mixed, layer.values("output/w"), layer.values("output/b"));
        },
        context);
  };
  check({0, 1, 2, 3, 4}, {}, [](std::size_t i, std::size_t j) { return j <= i; });
  FpropContext packed;
  packed.segment_ids = layer.ids({1, 1, 1, 2, 2});
  packed.positions = layer.ids({0, 1, 2, 0, 1});
  check({0, 1, 2, 0, 1}, packed,
        [](std::size_t i, std::size_t j) { return j <= i && (i < 3) == (j < 3); });
}

TEST_CASE("gradients of extra logits, local windows and convolutions match differences") {
  const std::string backend = GENERATE(from_range(trivet::test::backends()));
  AttentionFixture(backend, {{"attention_extra_logit", 0.5}, {"causal", true}}).check_gradients();
  AttentionFixture(backend, {{"window", 2}, {"right_context", 1}}).check_gradients();
  AttentionFixture(backend, {{"dconv_qkv", true}, {"num_kv_heads", 1}, {"causal", true}})
      .check_gradients();
}

TEST_CASE("options that are off add no parameters") {
  const AttentionFixture layer("tiny/Backend", {});
  CHECK(layer.store().parameters().size() == 8);
}

TEST_CASE("local windows and convolutions report what they exclude") {
  const auto make = [](std::initializer_list<std::pair<std::string_view, Value>> more) {
    return AttentionFixture("tiny/Backend", more);
  };
  CHECK_THROWS_WITH(make({{"causal", true}, {"right_context", 2}}),
                    Contains("right_context") && Contains("sees no later positions"));
  CHECK_THROWS_WITH(make({{"cross_attention", true}, {"dconv_qkv", true}}),
                    Contains("cross_attention") && Contains("dconv_qkv"));
  CHECK_THROWS_WITH(make({{"cross_attention", true}, {"rel_pos_emb_dim", 4}}),
                    Contains("cross_attention") && Contains("rel_pos_emb_dim"));
  const AttentionFixture ahead = make({{"right_context", 1}});
  CHECK_THROWS_WITH(trivet::make_cache(ahead.layer(), "layer", 1, 2),
                    Contains("sees later positions"));
}

}  // namespace nn_multi_head_attention_test
