// SPDX-License-Identifier: Apache-2.0
// lm/Bert with the blocks of XLNet: the fields of the batch that reach them, the loss of a
// permutation, and refusals.
#include <catch2/catch.hpp>

#include "encoder_fixture.h"
#include "lm/models/bert.h"
#include "lm/models/electra.h"
#include "trivet/error.h"

namespace lm_xlnet_test {
namespace {

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;

constexpr std::int32_t kVocabulary = 11;
using Fixture = EncoderFixture<lm::Bert>;

template <class Config>
Config xlnet_config(bool two_stream) {
  Config config;
  config.vocab_size = kVocabulary;
  config.model_dims = 8;
  config.num_layers = 2;
  config.num_heads = 2;
  config.hidden_dims = 8;
  config.position_emb_tpl = {};
  config.final_norm_tpl = {};
  config.stacked_transformer_tpl = {"nn/XlnetTransformer",
                                    Value::table({{"two_stream", two_stream}})};
  config.block_tpl = "nn/XlnetBlock";
  return config;
}

Batch batch_of(const Fixture& fixture, const Tokens& order) {
  Batch batch = {{"ids", fixture.ids(some_tokens(8, 6, kVocabulary), {2, 4})},
                 {"token_type_ids", fixture.ids({0, 0, 1, 1, 0, 1, 1, 1}, {2, 4})},
                 {"labels", fixture.ids(some_tokens(8, 6, kVocabulary), {2, 4})},
                 {"weights", fixture.numbers({0, 1, 1, 0, 1, 1, 0, 0}, {2, 4})},
                 {"paddings", fixture.numbers({0, 0, 0, 0, 0, 0, 0, 1}, {2, 4})}};
  if (!order.empty()) batch.set("permutation", fixture.ids(order, {2, 4}));
  return batch;
}

const Tokens kOrder = {-2, 1, 0, -2, 1, 0, -2, -2};

}  // namespace

TEST_CASE("token types reach the blocks of XLNet through lm/Bert", "[slow][lm-encoder]") {
  for (const std::string& backend : backends()) {
    Fixture fixture(xlnet_config<lm::BertConfig>(false), backend);
    const Batch batch = batch_of(fixture, {});
    Batch other = batch, none = batch;
    other.set("token_type_ids", fixture.ids({0, 1, 1, 1, 0, 0, 1, 1}, {2, 4}));
    none.erase("token_type_ids");
    INFO(backend);
    CHECK(fixture.values(batch, "per_example_xent") != fixture.values(other, "per_example_xent"));
    CHECK(fixture.values(batch, "per_example_xent") != fixture.values(none, "per_example_xent"));
    CHECK(fixture.gradient_check(batch, "avg_xent") == "");
  }
}

TEST_CASE("lm/Bert predicts tokens in the order of a permutation without seeing them",
          "[slow][lm-encoder]") {
  for (const std::string& backend : backends()) {
    Fixture fixture(xlnet_config<lm::BertConfig>(true), backend);
    Batch batch = batch_of(fixture, kOrder);
    INFO(backend);
    CHECK(fixture.gradient_check(batch, "avg_xent") == "");
    const auto logits = [&](Tokens ids) {
      Batch inputs = {{"ids", fixture.ids(ids, {2, 4})},
                      {"permutation", fixture.ids(kOrder, {2, 4})}};
      return fixture.values(inputs);
    };
    Tokens ids = some_tokens(8, 6, kVocabulary);
    const std::vector<float> before = logits(ids);
    ids[1] = (ids[1] + 1) % kVocabulary;  // the last one of the first row
    const std::vector<float> after = logits(ids);
    const auto own = [](const std::vector<float>& of, std::size_t position) {
      const auto begin = of.begin() + static_cast<std::ptrdiff_t>(position * kVocabulary);
      return std::vector<float>(begin, begin + kVocabulary);
    };
    for (const std::size_t position : {0, 1, 2, 3}) {
      CHECK(largest_error(own(before, position), own(after, position)) < 1e-6);
    }
    ids[2] = (ids[2] + 1) % kVocabulary;  // the first one
    CHECK(largest_error(own(after, 1), own(logits(ids), 1)) > 1e-5);
    CHECK(largest_error(own(after, 2), own(logits(ids), 2)) < 1e-6);
  }
}

TEST_CASE("a permutation is refused where blocks would see the tokens to predict", "[lm-encoder]") {
  lm::BertConfig plain = xlnet_config<lm::BertConfig>(false);
  plain.stacked_transformer_tpl = "nn/StackedTransformer";
  plain.block_tpl = "nn/TransformerBlock";
  Fixture bert(plain), one(xlnet_config<lm::BertConfig>(false)),
      two(xlnet_config<lm::BertConfig>(true));
  CHECK_THROWS_WITH(bert.values(batch_of(bert, kOrder), "avg_xent"),
                    Contains("lm/Bert: the batch has a permutation"));
  CHECK_THROWS_WITH(one.values(batch_of(one, kOrder), "avg_xent"),
                    Contains("there is no stream that predicts it"));
  CHECK_THROWS_WITH(two.values(batch_of(two, {}), "avg_xent"),
                    Contains("has two_stream, but the batch has no permutation"));
  EncoderFixture<lm::Electra> electra(xlnet_config<lm::ElectraConfig>(false));
  CHECK_THROWS_WITH(electra.values(batch_of(two, kOrder), "avg_xent"),
                    Contains("the generator predicts masked tokens"));
}

}  // namespace lm_xlnet_test
