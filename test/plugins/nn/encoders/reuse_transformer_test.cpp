// SPDX-License-Identifier: Apache-2.0
// Reuse transformers against their formulas in double, gradients, segments, and errors.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "plugins/lm/transformer_reference.h"
#include "support/layer_fixture.h"
#include "support/plugins.h"
#include "trivet/error.h"
#include "trivet/testing/layer_check.h"

namespace reuse_transformer_test {
namespace {

using namespace trivet::test;
using Catch::Contains;
using trivet::FpropContext;
using trivet::Tensor;
using trivet::Value;

constexpr std::size_t kDims = 6, kHeads = 3, kDepth = 2;

trivet::ConfigOf<trivet::Layer> config(const Value& stack, const Value& block) {
  Value layer = Value::table({{"type", "nn/ReuseBlock"},
                              {"input_dims", kDims},
                              {"num_heads", kHeads},
                              {"hidden_dims", 7}});
  for (const Value::Member& member : block.members()) layer.set(member.key, member.value);
  Value fields = Value::table({{"num_layers", 3}, {"transformer_layer_params_tpl", layer}});
  for (const Value::Member& member : stack.members()) fields.set(member.key, member.value);
  return {"nn/ReuseTransformer", fields};
}

struct Stack : LayerFixture {
  explicit Stack(const std::string& backend, const Value& stack = Value::table({}),
                 const Value& block = Value::table({}))
      : LayerFixture(backend, config(stack, block)) {
    std::uint64_t seed = 30;
    for (const auto& parameter : store().parameters()) {
      if (!parameter->path().ends_with("/b")) continue;
      parameter->assign(
          tensor(random_values(parameter->shape().size(), ++seed, 0.3), parameter->shape()));
    }
  }
  bool has(const std::string& path) const { return store().find("layer/" + path) != nullptr; }
};

using Matrices = std::vector<Rows>;  // by head

// The number of a distance of a head in a table for sequences of three positions; 0 without one.
double number_of(const std::vector<float>& table, std::size_t i, std::size_t j, std::size_t head,
                 std::size_t heads) {
  if (table.empty()) return 0;
  const int distance = std::clamp(static_cast<int>(j) - static_cast<int>(i), -2, 2);
  return static_cast<double>(table[static_cast<std::size_t>(distance + 2) * heads + head]);
}

// The weights of the heads that a block computes.
Matrices weights_of(const Rows& q, const Rows& k, const std::vector<float>& table = {}) {
  Matrices heads;
  for (std::size_t at = 0; at < q[0].size(); at += kDepth) {
    Rows p;
    for (std::size_t i = 0; i < q.size(); ++i) {
      Row& row = p.emplace_back();
      double total = 0;
      for (std::size_t j = 0; j < k.size(); ++j) {
        double score = 0;
        for (std::size_t d = at; d < at + kDepth; ++d) score += q[i][d] * k[j][d];
        score /= std::sqrt(static_cast<double>(kDepth));
        score += number_of(table, i, j, at / kDepth, q[0].size() / kDepth);
        total += row.emplace_back(std::exp(score));
      }
      for (double& v : row) v /= total;
    }
    heads.push_back(p);
  }
  return heads;
}

// Bhojanapalli et al. 2021, section 4, with heads as in reuse_block.h.
Rows reference(Rows x, const Stack& stack, const std::vector<std::size_t>& reused, bool post) {
  Matrices below;
  for (std::size_t i = 0; i < reused.size(); ++i) {
    const std::string path = "layer_" + std::to_string(i) + "/";
    const auto linear = [&](const Rows& of, const std::string& name) {
      return affine(of, stack.values(path + name + "/w"), stack.values(path + name + "/b"));
    };
    const auto norm = [&](const Rows& of, const std::string& name) {
      return layer_norm(of, stack.values(path + name + "/scale"),
                        stack.values(path + name + "/bias"));
    };
    const Rows in = post ? x : norm(x, "attention_norm");
    Matrices p;
    if (reused[i] < kHeads) {
      const std::string numbers = path + "attention/relative_pe";
      p = weights_of(linear(in, "attention/query"), linear(in, "attention/key"),
                     stack.has(numbers) ? stack.values(numbers) : std::vector<float>());
    }
    p.insert(p.end(), below.begin(), below.begin() + static_cast<std::ptrdiff_t>(reused[i]));
    below = p;
    const Rows v = linear(in, "attention/value");
    Rows mixed(x.size(), Row(kDims, 0.0));
    for (std::size_t h = 0; h < kHeads; ++h) {
      for (std::size_t a = 0; a < x.size(); ++a) {
        for (std::size_t b = 0; b < x.size(); ++b) {
          for (std::size_t d = h * kDepth; d < (h + 1) * kDepth; ++d) {
            mixed[a][d] += p[h][a][b] * v[b][d];
          }
        }
      }
    }
    Rows h = sum(x, linear(mixed, "attention/output"));
    if (post) h = norm(h, "attention_norm");
    Rows mlp = linear(post ? h : norm(h, "mlp_norm"), "mlp_in");
    for (Row& row : mlp) {
      for (double& value : row) value = std::tanh(value);
    }
    x = sum(h, linear(mlp, "mlp_out"));
    if (post) x = norm(x, "mlp_norm");
  }
  return x;
}

Value tanh_block(const char* policy) {
  return Value::table({{"activation", "nn/Tanh"}, {"norm_policy", policy}});
}

}  // namespace

TEST_CASE("reuse transformers match their formulas in float64", "[nn][slow]") {
  for (const std::string& backend : backends()) {
    for (const auto& [stack, reused] :
         {std::pair{Value::table({}), std::vector<std::size_t>{0, 3, 3}},
          std::pair{Value::table({{"reuse_attention", 1}}), std::vector<std::size_t>{0, 1, 1}},
          std::pair{Value::table({{"reuse_attention", 2}, {"max_reuse_layer_idx", 1}}),
                    std::vector<std::size_t>{0, 2, 0}}}) {
      for (const bool post : {false, true}) {
        const Stack layer(backend, stack, tanh_block(post ? "post_skip" : "pre"));
        const std::vector<float> x = random_values(2 * 4 * kDims, 3);
        std::vector<Rows> want;
        for (const Rows& rows : sequences(x, 4, kDims)) {
          want.push_back(reference(rows, layer, reused, post));
        }
        INFO(backend << " " << reused[1] << reused[2] << " " << post);
        CHECK(largest_error(layer.fprop(layer.tensor(x, {2, 4, kDims})).to_host<float>(),
                            flattened(want)) < 2e-5);
        for (std::size_t i = 0; i < 3; ++i) {
          const std::string path = "layer_" + std::to_string(i) + "/attention/query/w";
          CHECK(layer.has(path) == (reused[i] < kHeads));
        }
        CHECK(trivet::testing::check_layer_gradients(
                  layer.layer(), layer.store(),
                  layer.tensor(random_values(3 * kDims, 4), {1, 3, kDims})) == "");
      }
    }
  }
}

TEST_CASE("heads that do not reuse have learned numbers for distances", "[slow][nn]") {
  const Value numbered = Value::table(
      {{"activation", "nn/Tanh"}, {"use_relative_pe", true}, {"pe_max_seq_length", 3}});
  for (const std::string& backend : backends()) {
    for (const auto& [stack, reused] :
         {std::pair{Value::table({}), std::vector<std::size_t>{0, 3, 3}},
          std::pair{Value::table({{"reuse_attention", 1}}), std::vector<std::size_t>{0, 1, 1}}}) {
      const Stack layer(backend, stack, numbered);
      for (std::size_t i = 0; i < 3; ++i) {
        const std::string path = "layer_" + std::to_string(i) + "/attention/relative_pe";
        REQUIRE(layer.has(path) == (reused[i] < kHeads));
        if (reused[i] < kHeads) layer.set(path, random_values(5 * (3 - reused[i]), 20 + i));
      }
      // Five positions: the distances 3 and 4 have the number of 2.
      const std::vector<float> x = random_values(5 * kDims, 3);
      const Rows want = reference(sequences(x, 5, kDims)[0], layer, reused, false);
      INFO(backend << " " << reused[1]);
      CHECK(largest_error(layer.fprop(layer.tensor(x, {1, 5, kDims})).to_host<float>(),
                          flattened({want})) < 2e-5);
      CHECK(trivet::testing::check_layer_gradients(
                layer.layer(), layer.store(),
                layer.tensor(random_values(3 * kDims, 4), {1, 3, kDims})) == "");
    }
  }
  CHECK_THROWS_WITH(
      Stack("tiny/Backend", Value::table({}), Value::table({{"pe_max_seq_length", 3}})),
      Contains("pe_max_seq_length: is not used without use_relative_pe"));
}

TEST_CASE("positions of a reuse transformer see their own segment only", "[nn]") {
  const Stack layer("tiny/Backend");
  std::vector<float> x = random_values(5 * kDims, 3);
  FpropContext context;
  context.segment_ids =
      Tensor::from<std::int32_t>(layer.device(), std::vector<std::int32_t>{1, 1, 2, 2, 0}, {1, 5});
  context.paddings = layer.tensor({0, 0, 0, 0, 1}, {1, 5});
  const auto got = layer.layer().fprop(layer.tensor(x, {1, 5, kDims}), context).to_host<float>();
  const auto alone = [&](std::size_t begin) {
    const auto at = x.begin() + static_cast<std::ptrdiff_t>(begin * kDims);
    return layer.fprop(layer.tensor({at, at + 2 * kDims}, {1, 2, kDims})).to_host<float>();
  };
  std::vector<float> want = alone(0);
  const std::vector<float> second = alone(2);
  want.insert(want.end(), second.begin(), second.end());
  CHECK(largest_error(std::vector<float>(got.begin(), got.begin() + 4 * kDims), want) < 1e-5);
}

TEST_CASE("a reuse transformer has dropout, and reports what it cannot stack", "[nn]") {
  const Stack layer("tiny/Backend", Value::table({}), Value::table({{"atten_dropout", 0.5}}));
  const Tensor x = layer.tensor(random_values(4 * kDims, 4), {1, 4, kDims});
  CHECK(layer.fprop(x, true).to_host<float>() != layer.fprop(x).to_host<float>());
  CHECK_THROWS_WITH(layer.fprop(Tensor::zeros(layer.device(), {1, 3, 5})),
                    Contains("expected [B, T, 6]"));
  CHECK_THROWS_WITH(Stack("tiny/Backend", Value::table({{"reuse_attention", 4}})),
                    Contains("reuse_heads: is 4, but there are 3 heads"));
  CHECK_THROWS_WITH(
      Stack("tiny/Backend", Value::table({}), Value::table({{"norm_policy", "primer_hybrid"}})),
      Contains("norm_policy: must be pre or post_skip"));
  CHECK_THROWS_WITH(
      Stack("tiny/Backend", Value::table({}), Value::table({{"type", "nn/TransformerBlock"}})),
      Contains("stacks nn/ReuseBlock, not nn/TransformerBlock"));
  const LayerFixture block(
      "tiny/Backend",
      {"nn/ReuseBlock", Value::table({{"input_dims", 6}, {"num_heads", 3}, {"reuse_heads", 1}})});
  CHECK_THROWS_WITH(block.fprop(block.tensor(random_values(12, 4), {1, 2, 6})),
                    Contains("has reuse_heads, but no block is below it"));
}

}  // namespace reuse_transformer_test
