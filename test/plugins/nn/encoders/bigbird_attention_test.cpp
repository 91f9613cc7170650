// SPDX-License-Identifier: Apache-2.0
// Big Bird's attention: the pattern of blocks, full attention under its mask in double, segments,
// gradients, the growth with the length, and errors.
#include "nn/encoders/bigbird_attention.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <catch2/catch.hpp>

#include "plugins/lm/transformer_reference.h"
#include "support/layer_fixture.h"
#include "support/plugins.h"
#include "trivet/error.h"
#include "trivet/testing/layer_check.h"

namespace bigbird_attention_test {
namespace {

using namespace trivet::test;
using Catch::Contains;
using trivet::FpropContext;
using trivet::Tensor;
using trivet::Value;
using Blocks = std::vector<std::int32_t>;

constexpr std::int64_t kDims = 8, kHeads = 2;

struct Sparse : LayerFixture {
  Sparse(const std::string& backend, std::int64_t block_size, std::int64_t random,
         std::int64_t seed = 0)
      : LayerFixture(backend, {"nn/BigBirdAttention", Value::table({{"input_dims", kDims},
                                                                    {"num_heads", kHeads},
                                                                    {"block_size", block_size},
                                                                    {"num_rand_blocks", random},
                                                                    {"seed", seed}})}),
        size(block_size),
        store_of_twin(device(), trivet::RngKey(7)),
        twin(twin_config(block_size, random, seed), twin_scope()) {
    for (const char* bias : {"query/b", "key/b", "value/b", "output/b"}) {
      set(bias, random_values(kDims, 40));
    }
  }
  // The layer of the plugin has no C++ type here; one of the same seed and path has its pattern.
  static trivet::nn::BigBirdAttentionConfig twin_config(std::int64_t block_size,
                                                        std::int64_t random, std::int64_t seed) {
    trivet::nn::BigBirdAttentionConfig config;
    config.input_dims = kDims;
    config.num_heads = kHeads;
    config.block_size = block_size;
    config.num_rand_blocks = random;
    config.seed = seed;
    return config;
  }
  trivet::Scope& twin_scope() {
    scope_of_twin.emplace(trivet::Scope(store_of_twin).child("layer"));
    return *scope_of_twin;
  }
  const trivet::nn::BigBirdAttention& attention() const { return twin; }
  // Full attention under the mask of the blocks and of `segments`, in double.
  Rows reference(const Rows& x, const std::vector<std::int32_t>& segments) const {
    const auto blocks = static_cast<std::int64_t>((x.size() + size - 1) / size);
    const Heads heads{
        .heads = kHeads,
        .kv_heads = kHeads,
        .scored = [&](double score, std::size_t head, std::size_t i, std::size_t j) {
          const Blocks seen = attention().seen(blocks, static_cast<std::int64_t>(head),
                                               static_cast<std::int64_t>(i / size));
          const auto block = static_cast<std::int32_t>(j / size);
          const bool sees = std::ranges::find(seen, block) != seen.end();
          return sees && segments[i] == segments[j] ? score
                                                    : -std::numeric_limits<double>::infinity();
        }};
    return trivet::test::attention(
        x, [this](const std::string& path) { return values(path); }, heads);
  }
  std::size_t size;
  trivet::ParameterStore store_of_twin;
  std::optional<trivet::Scope> scope_of_twin;
  trivet::nn::BigBirdAttention twin;
};

std::vector<std::int32_t> repeated(std::size_t count, std::int32_t value) {
  return std::vector<std::int32_t>(count, value);
}

}  // namespace

TEST_CASE("a block of Big Bird sees global, near and drawn blocks, each once", "[nn]") {
  const Sparse layer("tiny/Backend", 4, 3), same("tiny/Backend", 4, 3),
      other("tiny/Backend", 4, 3, 1);
  bool heads_differ = false, seeds_differ = false;
  std::vector<int> drawn(20, 0);
  for (std::int64_t block = 0; block < 20; ++block) {
    const Blocks seen = layer.attention().seen(20, 0, block);
    CHECK(seen == same.attention().seen(20, 0, block));
    Blocks sorted = seen;
    std::ranges::sort(sorted);
    CHECK(std::ranges::adjacent_find(sorted) == sorted.end());
    if (block == 0 || block == 19) {
      CHECK(seen.size() == 20);
      continue;
    }
    // The ends are neighbors of the second block and of the last but one.
    CHECK(seen.size() == (block == 1 || block == 18 ? 4U : 5U) + 3U);
    for (const std::int64_t sight :
         {std::int64_t{0}, std::int64_t{19}, block - 1, block, block + 1}) {
      CHECK(std::ranges::find(seen, static_cast<std::int32_t>(sight)) != seen.end());
    }
    for (std::size_t i = seen.size() - 3; i < seen.size(); ++i) {
      ++drawn[static_cast<std::size_t>(seen[i])];
    }
    heads_differ = heads_differ || seen != layer.attention().seen(20, 1, block);
    seeds_differ = seeds_differ || seen != other.attention().seen(20, 0, block);
  }
  CHECK(heads_differ);
  CHECK(seeds_differ);
  CHECK(std::ranges::count_if(drawn, [](int count) { return count > 0; }) > 12);
  CHECK(layer.attention().seen(1, 0, 0) == Blocks{0});
  Blocks all = layer.attention().seen(7, 0, 3);  // two blocks are left, and three are wanted
  std::ranges::sort(all);
  CHECK(all == Blocks{0, 1, 2, 3, 4, 5, 6});
}

TEST_CASE("Big Bird is full attention under the mask of its blocks", "[nn]") {
  for (const std::string& backend : backends()) {
    // Whole blocks; a short last block; few blocks; one position; no random blocks.
    for (const auto& [length, size, random] :
         {std::tuple{24, 2, 1}, std::tuple{23, 3, 2}, std::tuple{7, 4, 3}, std::tuple{9, 3, 0},
          std::tuple{1, 4, 3}, std::tuple{16, 1, 3}}) {
      const Sparse layer(backend, size, random);
      const auto positions = static_cast<std::size_t>(length);
      const std::vector<float> x = random_values(2 * length * kDims, 3);
      std::vector<Rows> want;
      for (const Rows& rows : sequences(x, positions, kDims)) {
        want.push_back(layer.reference(rows, repeated(positions, 0)));
      }
      INFO(backend << " " << length);
      CHECK(largest_error(layer.fprop(layer.tensor(x, {2, length, kDims})).to_host<float>(),
                          flattened(want)) < 2e-5);
    }
  }
}

TEST_CASE("Big Bird's positions see neither padding nor other segments", "[nn]") {
  const Sparse layer("tiny/Backend", 2, 1);
  const std::vector<std::int32_t> ids = {1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 0, 0};
  std::vector<float> paddings(15, 0);
  paddings[13] = paddings[14] = 1;
  FpropContext context;
  context.segment_ids = Tensor::from<std::int32_t>(layer.device(), ids, {1, 15});
  context.paddings = layer.tensor(paddings, {1, 15});
  const std::vector<float> x = random_values(15 * kDims, 3);
  const auto got = layer.layer().fprop(layer.tensor(x, {1, 15, kDims}), context).to_host<float>();
  const auto want = flattened({layer.reference(sequences(x, 15, kDims)[0], ids)});
  CHECK(largest_error(got, want) < 2e-5);
}

TEST_CASE("the gradients of Big Bird's attention match central differences", "[nn]") {
  for (const std::string& backend : backends()) {
    const Sparse layer(backend, 1, 1);
    INFO(backend);
    CHECK(trivet::testing::check_layer_gradients(
              layer.layer(), layer.store(),
              layer.tensor(random_values(7 * kDims, 4), {1, 7, kDims})) == "");
  }
}

TEST_CASE("Big Bird's attention has dropout in training, and reports wrong inputs", "[nn]") {
  const LayerFixture layer("tiny/Backend",
                           {"nn/BigBirdAttention", Value::table({{"input_dims", kDims},
                                                                 {"num_heads", kHeads},
                                                                 {"block_size", 2},
                                                                 {"atten_dropout", 0.5}})});
  const Tensor x = layer.tensor(random_values(10 * kDims, 4), {1, 10, kDims});
  CHECK(layer.fprop(x).to_host<float>() == layer.fprop(x).to_host<float>());
  CHECK(layer.fprop(x, true).to_host<float>() != layer.fprop(x).to_host<float>());
  CHECK_THROWS_WITH(layer.fprop(Tensor::zeros(layer.device(), {1, 3, 5})),
                    Contains("'layer': expected [B, T, 8]"));
  const auto block = [](const char* field, const Value& value) {
    Value fields = Value::table(
        {{"input_dims", 8}, {"num_heads", 2}, {"attention_tpl", "nn/BigBirdAttention"}});
    fields.set(field, value);
    return LayerFixture("tiny/Backend", {"nn/TransformerBlock", fields});
  };
  CHECK_NOTHROW(block("atten_dropout", 0.1));
  CHECK_THROWS_WITH(block("causal", true), Contains("which cannot be causal"));
  CHECK_THROWS_WITH(block("num_heads", 3), Contains("which does not divide input_dims = 8"));
}

}  // namespace bigbird_attention_test
