// SPDX-License-Identifier: Apache-2.0
// The projections of embeddings in encoders, and MobileBERT: formulas in double, ends of texts, and
// the published number of weights.
#include "lm/models/encoder.h"

#include <catch2/catch.hpp>

#include "encoder_fixture.h"
#include "lm/models/bert.h"

namespace lm_trigram_test {
namespace {

using namespace trivet;
using namespace trivet::test;

constexpr std::int32_t kVocabulary = 11;
constexpr std::size_t kDims = 8, kEmbedding = 3;
using Fixture = EncoderFixture<lm::Bert>;

lm::BertConfig trigram_config() {
  lm::BertConfig config;
  config.vocab_size = kVocabulary;
  config.model_dims = kDims;
  config.num_layers = 1;
  config.num_heads = 2;
  config.max_seq_len = 12;
  config.type_vocab_size = 2;
  config.embedding_dims = kEmbedding;
  config.embedding_projection = lm::EmbeddingProjection::trigrams;
  config.embedding_norm_tpl = "nn/LayerNorm";
  return config;
}

// Sun et al. 2020, section 3.2, in double; or with the tokens alone.
Rows reference_logits(const Fixture& fixture, const Tokens& ids, const Tokens& types,
                      bool trigrams = true) {
  const Rows e = rows_of_table(fixture.parameter("embedding/table"), ids, kEmbedding);
  Rows three(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const Row none(kEmbedding, 0.0);
    for (const Row& part : {i + 1 < ids.size() ? e[i + 1] : none, e[i], i > 0 ? e[i - 1] : none}) {
      three[i].insert(three[i].end(), part.begin(), part.end());
    }
  }
  Tokens positions(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) positions[i] = static_cast<std::int32_t>(i);
  const auto added = [&](const char* table, const Tokens& of) {
    return rows_of_table(fixture.parameter(table), of, kDims);
  };
  const auto norm = [&](const Rows& x, const std::string& path) {
    return layer_norm(x, fixture.parameter(path + "/scale"), fixture.parameter(path + "/bias"));
  };
  Rows x = affine(trigrams ? three : e, fixture.parameter("embedding_projection/w"),
                  fixture.parameter("embedding_projection/b"));
  x = sum(sum(x, added("token_type_emb/table", types)), added("position_emb/table", positions));
  x = transformer_block(norm(x, "embedding_norm"), fixture.below("transformer/layer_0"),
                        {.heads = 2, .kv_heads = 2});
  x = norm(x, "final_norm");
  x = gelu(affine(x, fixture.parameter("mlm_dense/w"), fixture.parameter("mlm_dense/b")));
  return tied_logits(norm(x, "mlm_norm"), fixture.parameter("embedding/table"),
                     fixture.parameter("embedding/b"));
}

}  // namespace

TEST_CASE("a trigram embedding joins three tokens, as MobileBERT's formula says", "[lm-encoder]") {
  for (const std::string& backend : backends()) {
    Fixture fixture(trigram_config(), backend);
    INFO(backend);
    CHECK(fixture.store.find("embedding_projection/w")->shape() == Shape{9, 8});
    const Tokens ids = some_tokens(7, 3, kVocabulary), types = {0, 0, 0, 1, 1, 0, 1};
    CHECK(largest_error(fixture.values({{"ids", fixture.ids(ids, {1, 7})},
                                        {"token_type_ids", fixture.ids(types, {1, 7})}}),
                        flattened({reference_logits(fixture, ids, types)})) < 1e-5);
    CHECK(fixture.gradient_check({{"ids", fixture.ids(some_tokens(6, 6, kVocabulary), {2, 3})},
                                  {"segment_ids", fixture.ids({1, 1, 2, 1, 1, 0}, {2, 3})},
                                  {"paddings", fixture.numbers({0, 0, 0, 0, 0, 1}, {2, 3})},
                                  {"labels", fixture.ids(some_tokens(6, 7, kVocabulary), {2, 3})},
                                  {"weights", fixture.numbers({1, 0, 1, 0, 1, 0}, {2, 3})}},
                                 "avg_xent") == "");
    // One token has no neighbors.
    CHECK(largest_error(fixture.values({{"ids", fixture.ids({4}, {1, 1})}}),
                        flattened({reference_logits(fixture, {4}, {0})})) < 1e-5);
  }
}

TEST_CASE("an embedding of tokens can be projected before the sum", "[lm-encoder]") {
  lm::BertConfig config = trigram_config();
  config.embedding_projection = lm::EmbeddingProjection::tokens;
  for (const std::string& backend : backends()) {
    Fixture fixture(config, backend);
    INFO(backend);
    CHECK(fixture.store.find("embedding_projection/w")->shape() == Shape{3, 8});
    const Tokens ids = some_tokens(7, 3, kVocabulary), types = {0, 0, 0, 1, 1, 0, 1};
    CHECK(largest_error(fixture.values({{"ids", fixture.ids(ids, {1, 7})},
                                        {"token_type_ids", fixture.ids(types, {1, 7})}}),
                        flattened({reference_logits(fixture, ids, types, false)})) < 1e-5);
    CHECK(fixture.gradient_check({{"ids", fixture.ids(some_tokens(6, 6, kVocabulary), {2, 3})},
                                  {"labels", fixture.ids(some_tokens(6, 7, kVocabulary), {2, 3})},
                                  {"weights", fixture.numbers({1, 0, 1, 0, 1, 0}, {2, 3})}},
                                 "avg_xent") == "");
  }
}

TEST_CASE("a trigram embedding ends with its text", "[lm-encoder]") {
  Fixture fixture(trigram_config());
  const Tokens first = some_tokens(3, 8, kVocabulary), second = some_tokens(4, 9, kVocabulary);
  const auto alone = [&](const Tokens& tokens) {
    return fixture.values({{"ids", fixture.ids(tokens, {1, std::ssize(tokens)})}});
  };
  Tokens packed = first;
  packed.insert(packed.end(), second.begin(), second.end());
  packed.push_back(5);
  const std::vector<float> both =
      fixture.values({{"ids", fixture.ids(packed, {1, 8})},
                      {"segment_ids", fixture.ids({1, 1, 1, 2, 2, 2, 2, 0}, {1, 8})},
                      {"segment_pos", fixture.ids({0, 1, 2, 0, 1, 2, 3, 0}, {1, 8})},
                      {"paddings", fixture.numbers({0, 0, 0, 0, 0, 0, 0, 1}, {1, 8})}});
  std::vector<float> want = alone(first);
  const std::vector<float> behind = alone(second);
  want.insert(want.end(), behind.begin(), behind.end());
  CHECK(largest_error(std::span(both).first(want.size()), want) < 1e-5);

  Tokens padded = first;
  padded.insert(padded.end(), {5, 6});
  const std::vector<float> got =
      fixture.values({{"ids", fixture.ids(padded, {1, 5})},
                      {"paddings", fixture.numbers({0, 0, 0, 1, 1}, {1, 5})}});
  CHECK(largest_error(std::span(got).first(3 * kVocabulary), alone(first)) < 1e-5);
}

TEST_CASE("MobileBERT has the published number of weights", "[lm-encoder]") {
  // Sun et al. 2020, table 1: 25.3M with the heads of pretraining, of 24 blocks in 512 features
  // with bottlenecks of 128. The sum of the published shapes is 24,581,888 without these heads.
  lm::BertConfig config = trigram_config();
  config.vocab_size = 30522;
  config.embedding_dims = 128;
  config.model_dims = 512;
  config.hidden_dims = 512;
  config.num_layers = 24;
  config.num_heads = 4;
  config.max_seq_len = 512;
  config.embedding_norm_tpl = "nn/NoNorm";
  config.final_norm_tpl = {};
  config.block_tpl = "nn/BottleneckBlock";
  use_plugin("nn");
  const auto device = open_device("tiny/Backend");
  ParameterStore store(*device, RngKey(7));
  Scope scope(store);
  const lm::Bert model(config, scope);
  std::int64_t encoder = 0;
  for (const auto& parameter : store.parameters()) {
    if (parameter->path().starts_with("mlm_") || parameter->path() == "embedding/b") continue;
    encoder += parameter->shape().size();
  }
  const auto dense = [](std::int64_t in, std::int64_t out) { return in * out + out; };
  const std::int64_t embeddings = 30522 * 128 + dense(3 * 128, 512) + 2 * 512 + 512 * 512 + 2 * 512;
  const std::int64_t attention = 2 * dense(128, 128) + dense(512, 128) + dense(128, 128);
  const std::int64_t block = 2 * (dense(512, 128) + 2 * 128) + attention + 2 * 128 +
                             4 * (dense(128, 512) + dense(512, 128) + 2 * 128) + dense(128, 512) +
                             2 * 512;
  CHECK(encoder == embeddings + 24 * block);
  CHECK(encoder == 24'581'888);
}

}  // namespace lm_trigram_test
